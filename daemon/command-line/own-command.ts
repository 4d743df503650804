import { existsSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { isSea } from "node:sea";
import { findOnPath } from "../process/program-environment.ts";
import { formatShellWords, quoteShellWord } from "./shell-word.ts";

const root = join(import.meta.dirname, "../..");

/** The script installed as `gatehouse`; a bundle of the programs doesn't include it. */
const launcher = join(root, "cli/gatehouse.sh");

/** The words of a command that reruns this program: the single executable, or Node and this installation's entry point for `gatehouse`. */
export const ownProgram: readonly [string, ...string[]] = isSea()
  ? [process.execPath]
  : [process.execPath, join(root, "cli/gatehouse.js")];

/**
 * Formats the start of a shell command that reruns this program: `gatehouse` if it is on PATH, `npx gatehouse-evm` (as in the pages) in a
 * folder where it is installed, otherwise its launcher, or the current Node if there is no launcher. In any other folder, `npx` would
 * download the package.
 *
 * @param directory the operator's working directory, for shorter paths; if absent, the paths are absolute.
 */
export function formatOwnCommand(directory?: string): string {
  if (isOnPath()) return "gatehouse";
  if (directory !== undefined && isInstalledIn(directory)) return "npx gatehouse-evm";
  if (!isSea() && existsSync(launcher)) return quoteShellWord(formatPath(launcher, directory));
  return formatShellWords(ownProgram.map((path) => formatPath(path, directory)));
}

function isOnPath(): boolean {
  const first = findOnPath("gatehouse");
  return first !== undefined && isSameFile(first, isSea() ? process.execPath : launcher);
}

function isInstalledIn(directory: string): boolean {
  return !isSea() && (directory === root || isSameFile(join(directory, "node_modules/.bin/gatehouse-evm"), launcher));
}

function isSameFile(path: string, other: string): boolean {
  return existsSync(path) && existsSync(other) && realpathSync(path) === realpathSync(other);
}

function formatPath(path: string, directory: string | undefined): string {
  const relativePath = directory === undefined ? ".." : relative(directory, path);
  return relativePath.startsWith("..") || !relativePath.includes("/") ? path : relativePath;
}
