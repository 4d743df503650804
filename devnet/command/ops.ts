import { resolve } from "node:path";
import { CommandError, parseOptions } from "./run-command.ts";
import { startInBackground } from "./start-in-background.ts";
import { stopNode } from "./stop-node.ts";

const usage = [
  "Usage:",
  "  ops start --config <node.conf>   start the node in the background; returns when its JSON-RPC answers",
  "  ops stop [--force]               stop the node; with --force it is killed when it does not stop in time",
].join("\n");

/**
 * Starts and stops the node of a workspace (specification, "Node command line", restart after configuration change).
 *
 * @throws {CommandError} with the usage when something else was typed, or when the node does not start or stop.
 */
export async function runOpsCommand(workspace: string, words: readonly string[]): Promise<string> {
  const [subcommand, ...rest] = words;
  if (subcommand === "--help") return `${usage}\n`;
  if (subcommand === "start") {
    const { config } = parseOptions(rest, { config: "string" }, usage);
    if (typeof config !== "string") throw new CommandError(`--config <node.conf> is missing.\n${usage}`, 2);
    return startInBackground({ workspace, configPath: resolve(config) });
  }
  if (subcommand === "stop") {
    const { force } = parseOptions(rest, { force: "boolean" }, usage);
    return stopNode({ workspace, mode: force === true ? "kill" : "wait" });
  }
  const found = subcommand === undefined ? "no command was given" : `there is no command "${subcommand}"`;
  throw new CommandError(`${found}.\n${usage}`, 2);
}
