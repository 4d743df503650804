import { relative } from "node:path";
import { locateProgramFile } from "../program-file.ts";
import type { Workspace } from "./workspace.ts";

/** The programs in a node's bin directory. */
export type LauncherName = "ops" | "node_cli";

const programs: Readonly<Record<LauncherName, string>> = {
  ops: locateProgramFile("../command/ops.main.ts", import.meta.url),
  node_cli: locateProgramFile("../command/node-cli.main.ts", import.meta.url),
};

/**
 * Formats a workspace's `ops` or `node_cli` script. The script derives the workspace from its own path, so that a workspace can be moved or
 * mounted elsewhere, and passes the workspace and the arguments to the program.
 */
export function formatLauncher(
  name: LauncherName,
  { directory, binDirectory, opsDirectory }: Pick<Workspace, "directory" | "binDirectory" | "opsDirectory">,
): string {
  const up = relative(name === "ops" ? opsDirectory : binDirectory, directory);
  return [
    "#!/bin/sh",
    `workspace=$(cd "$(dirname "$0")/${up || "."}" && pwd -P) || exit 1`,
    // Compiled code is cached, so that the next start is faster.
    'export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$workspace/run/compile-cache}"',
    `exec ${quote(process.execPath)} ${quote(programs[name])} "$workspace" "$@"`,
    "",
  ].join("\n");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
