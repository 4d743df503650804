import { writeFile } from "node:fs/promises";
import { renderMethodReference } from "./reference.ts";

await writeFile(new URL("../../docs/rpc-methods.md", import.meta.url), renderMethodReference());
