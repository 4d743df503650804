import { writeFile } from "node:fs/promises";
import { printSettingsReference } from "./settings-reference.ts";
import { loadDefinitions } from "../service-definitions.ts";

await writeFile(new URL("../../docs/settings.md", import.meta.url), printSettingsReference(await loadDefinitions()));
