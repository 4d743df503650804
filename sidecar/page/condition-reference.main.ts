import { writeFile } from "node:fs/promises";
import { renderConditionReference } from "./condition-reference.ts";

await writeFile(new URL("../../docs/conditions.md", import.meta.url), renderConditionReference());
