import { writeFile } from "node:fs/promises";
import { printLogEvents } from "./reference.ts";

await writeFile(new URL("../../../docs/log-events.md", import.meta.url), printLogEvents());
