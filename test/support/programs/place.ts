import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "../../..");

/** Folder of the programs that tests start, laid out as the repository is: `cli/gatehouse.js` of it is the command. */
export const programsDirectory = join(root, "node_modules/.cache/programs");

/** The programs, from the repository's root. */
export const programFiles = [
  "cli/launch.js",
  "devnet/command/node-cli.main.ts",
  "devnet/command/ops.main.ts",
  "devnet/node/node.main.ts",
  "test/support/claim-process.main.ts",
  "test/support/upgrade-process.main.ts",
  "test/support/upkeep-process.main.ts",
  "test/support/workspace-process.main.ts",
] as const;

/** Files of ours that start programs which stand next to them, from the repository's root. */
export const programStarters = [
  "daemon/command-line/own-command.ts",
  "devnet/command/start-in-background.ts",
  "devnet/workspace/launcher.ts",
] as const;

/**
 * The text of a file of ours that believes to stand among the programs: what it starts or reads next to itself is then taken from there. Undefined
 * for a text that does not ask where it stands.
 */
export function placeAmongPrograms(text: string, path: string): string | undefined {
  if (!text.includes("import.meta.")) return undefined;
  const place = join(programsDirectory, relative(root, path)).replace(/\.ts$/, ".js");
  return text
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(place)))
    .replaceAll("import.meta.filename", JSON.stringify(place))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(place).href));
}

/** The repository's own command, not compiled. */
export const ownProgram = join(root, "cli/gatehouse.js");

/** The command that tests run: compiled, or the repository's own where `vitest.config.ts` names no programs. */
export const gatehouseProgram = join(process.env["GATEHOUSE_TEST_PROGRAMS"] ?? root, "cli/gatehouse.js");

/** Finds a program of `test/support/`, by the name of its file, compiled or as it is. */
export function findTestProgram(name: `${string}.main.ts`): string {
  const programs = process.env["GATEHOUSE_TEST_PROGRAMS"];
  return programs === undefined
    ? join(root, "test/support", name)
    : join(programs, "test/support", name.replace(/\.ts$/, ".js"));
}
