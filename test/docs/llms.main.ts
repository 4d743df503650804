import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { printedLlms } from "./llms.ts";

writeFileSync(join(import.meta.dirname, "../../llms.txt"), printedLlms());
