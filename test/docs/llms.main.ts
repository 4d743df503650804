import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { printLlms } from "./llms.ts";

writeFileSync(join(import.meta.dirname, "../../llms.txt"), printLlms());
