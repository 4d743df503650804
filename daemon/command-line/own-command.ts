import { existsSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { isSea } from "node:sea";
import { findOnPath } from "../process/program-environment.ts";
import { quoteShellWord } from "./shell-word.ts";

const root = join(import.meta.dirname, "../..");

/** What is installed as `gatehouse`; a bundle of the programs has none. */
const launcher = join(root, "cli/gatehouse.sh");

/** The words that run this very program again: the single executable, or Node and what `gatehouse` starts with, next to this room. */
export const ownProgram: readonly [string, ...string[]] = isSea()
  ? [process.execPath]
  : [process.execPath, join(root, "cli/gatehouse.js")];

/**
 * Formats the beginning of a shell command that runs this very program again: `gatehouse` where that is on PATH, `npx gatehouse` in the program's own
 * folder, else by its launcher, or without one on the Node that runs it now. Elsewhere `npx` would query the registry for the package of a name, whosever it is.
 *
 * @param directory where the command is typed, for shorter words; without it they hold anywhere.
 */
export function formatOwnCommand(directory?: string): string {
  if (isOnPath()) return "gatehouse";
  if (directory === root && !isSea()) return "npx gatehouse";
  if (!isSea() && existsSync(launcher)) return quoteShellWord(formatPath(launcher, directory));
  return ownProgram.map((path) => quoteShellWord(formatPath(path, directory))).join(" ");
}

/** Whether a shell that has this process's PATH runs this program by its name. */
function isOnPath(): boolean {
  const own = isSea() ? process.execPath : launcher;
  const first = findOnPath("gatehouse");
  return first !== undefined && existsSync(own) && realpathSync(first) === realpathSync(own);
}

function formatPath(path: string, directory: string | undefined): string {
  const inside = directory === undefined ? ".." : relative(directory, path);
  return inside.startsWith("..") || !inside.includes("/") ? path : inside;
}
