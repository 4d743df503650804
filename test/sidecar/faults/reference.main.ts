import { writeFile } from "node:fs/promises";
import { printFaultsReference } from "./reference.ts";

await writeFile(new URL("../../../docs/faults.md", import.meta.url), printFaultsReference());
