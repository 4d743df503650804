import { readFile, writeFile } from "node:fs/promises";
import { createMask } from "#daemon/secrets/mask.ts";
import { printCommandReference } from "./command-reference.ts";
import { createProgram } from "../program.ts";

const docs = new URL("../../docs/", import.meta.url);
const exitCodes = await readFile(new URL("exit-codes.md", docs), "utf8");
await writeFile(
  new URL("command-line.md", docs),
  printCommandReference(createProgram({ mask: createMask() }), exitCodes),
);
