import { writeFile } from "node:fs/promises";
import { settingsReference } from "./settings-reference.ts";
import { serviceDefinitions } from "./service-definitions.ts";

await writeFile(new URL("../docs/settings.md", import.meta.url), settingsReference(Object.values(serviceDefinitions)));
