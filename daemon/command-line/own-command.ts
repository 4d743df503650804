import { join, relative } from "node:path";
import { isSea } from "node:sea";
import { quoteShellWord } from "./shell-word.ts";

/** The words that run this very program again: the single executable, or Node and what `gatehouse` starts with, next to this room. */
export const ownProgram: readonly [string, ...string[]] = isSea()
  ? [process.execPath]
  : [process.execPath, join(import.meta.dirname, "../../cli/gatehouse.js")];

/**
 * Formats the beginning of a shell command that runs this very program again, on the Node that runs it now. Commands
 * that Gatehouse shows begin so and not with `npx`, which queries the registry for the package of a name, whosever it
 * is, wherever it is not installed.
 *
 * @param directory where the command is typed, for shorter words; without it they hold anywhere.
 */
export function formatOwnCommand(directory?: string): string {
  return ownProgram.map((path) => quoteShellWord(formatPath(path, directory))).join(" ");
}

function formatPath(path: string, directory: string | undefined): string {
  const inside = directory === undefined ? ".." : relative(directory, path);
  return inside.startsWith("..") || !inside.includes("/") ? path : inside;
}
