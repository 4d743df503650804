import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "../../..");

/**
 * Directory of the programs that tests start, laid out like the repository: its `cli/gatehouse.js` is the command.
 */
export const programsDirectory = join(root, "node_modules/.cache/programs");

/** This module is not rewritten, because its own URL has a query. */
const replacedConstants = "test/support/replaced-constants.main.ts";

export const programFiles = [
  "cli/launch.js",
  "devnet/command/node-cli.main.ts",
  "devnet/command/ops.main.ts",
  "devnet/node/node.main.ts",
  "test/support/claim-process.main.ts",
  replacedConstants,
  "test/support/upgrade-process.main.ts",
  "test/support/upkeep-process.main.ts",
  "test/support/workspace-process.main.ts",
] as const;

/** Our files that start programs next to them, by their paths in the repository. */
export const programStarters = [
  "daemon/command-line/own-command.ts",
  "devnet/command/start-in-background.ts",
  "devnet/workspace/prepare-workspace.ts",
] as const;

/**
 * Rewrites the text of one of our files so that it finds the compiled programs next to itself, to start or read them.
 * Undefined for a text that does not use its own location.
 */
export function placeAmongPrograms(text: string, path: string): string | undefined {
  if (!text.includes("import.meta.") || path === join(root, replacedConstants)) return undefined;
  const place = join(programsDirectory, relative(root, path)).replace(/\.ts$/, ".js");
  return text
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(place)))
    .replaceAll("import.meta.filename", JSON.stringify(place))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(place).href));
}

/** The command that tests run: compiled, or the repository's own if `vitest.config.ts` specifies no programs. */
export const gatehouseProgram = join(process.env["GATEHOUSE_TEST_PROGRAMS"] ?? root, "cli/gatehouse.js");

export function findTestProgram(name: `${string}.main.ts`): string {
  const programs = process.env["GATEHOUSE_TEST_PROGRAMS"];
  return programs === undefined
    ? join(root, "test/support", name)
    : join(programs, "test/support", name.replace(/\.ts$/, ".js"));
}
