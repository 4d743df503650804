import { writeFile } from "node:fs/promises";
import { printMethodReference } from "./reference.ts";

await writeFile(new URL("../../docs/rpc-methods.md", import.meta.url), printMethodReference());
