import { writeFile } from "node:fs/promises";
import { faultsReference } from "./reference.ts";

await writeFile(new URL("../../../docs/faults.md", import.meta.url), faultsReference());
