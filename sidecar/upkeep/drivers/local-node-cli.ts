import { isAbsolute, join } from "node:path";
import { runProcess } from "#daemon/bounded-process.ts";
import type { NodeCliRunner } from "./node-cli.ts";

/** How the tool is run on this machine. */
export type LocalNodeCliOptions = Readonly<{ command: string; timeoutMs: number; outputLimitBytes: number }>;

/** Runs the tool in the node's bin directory. */
export function localNodeCli(options: LocalNodeCliOptions, binDirectory: () => string): NodeCliRunner {
  return (args, signal) => {
    const directory = binDirectory();
    const file = isAbsolute(options.command) ? options.command : join(directory, options.command);
    return runProcess({ ...options, command: [file, ...args], directory, signal });
  };
}
