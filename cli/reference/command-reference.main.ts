import { writeFile } from "node:fs/promises";
import { createMask } from "#daemon/secrets/mask.ts";
import { printCommandReference } from "./command-reference.ts";
import { createProgram } from "../program.ts";

await writeFile(
  new URL("../../docs/command-line.md", import.meta.url),
  printCommandReference(createProgram({ mask: createMask() })),
);
