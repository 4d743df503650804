import { writeFile } from "node:fs/promises";
import { printConditionReference } from "./condition-reference.ts";

await writeFile(new URL("../../docs/conditions.md", import.meta.url), printConditionReference());
