import { join } from "node:path";
import { findReleaseOfText } from "#node/versions.ts";
import { requestNode, NodeNotRunningError, type ControlCommand } from "../node/control-client.ts";
import { readNodeConf } from "../node/node-conf.ts";
import type { PruneInfo } from "../pruning.ts";
import { readParameters } from "../workspace/node-parameters.ts";
import { CommandError, parseOptions } from "./run-command.ts";

/**
 * Runs the node's command-line tool: `prune` and `--version`, with the options of the node's version (specification, "Node command line"):
 * from v0.11 on, `prune` takes `--c <config_path>`; earlier versions have no such option.
 *
 * @throws {CommandError} with the usage on any other input, or when no node runs.
 */
export async function runNodeCliCommand(workspace: string, args: readonly string[]): Promise<string> {
  const { version, profile } = readParameters(join(workspace, "devnet.json"));
  const { nodeCliTakesConfig: takesConfig } = findReleaseOfText(version);
  const usage = formatUsage(takesConfig);
  const [subcommand, ...rest] = args;
  if (subcommand === "--version" && profile === "standard") return `node_cli ${version}\n`;
  if (subcommand === "--help") return `${usage}\n`;
  if (subcommand !== "prune") {
    const found = subcommand === undefined ? "no command given" : `unknown command "${subcommand}"`;
    throw new CommandError(`${found}.\n${usage}`, 2);
  }
  const info = await requestPruneInfo(join(workspace, "run"), parsePruneCommand(rest, takesConfig, usage));
  return profile === "strict" ? formatSparsely(info) : formatPruneInfo(info);
}

function formatUsage(takesConfig: boolean): string {
  const config = takesConfig ? " --c <config_path>" : "";
  return [
    "Usage:",
    `  node_cli prune${config} --get                 print the pruning settings of the running node`,
    `  node_cli prune${config} --enable_auto_prune   enable auto-pruning`,
    "  node_cli --version",
  ].join("\n");
}

function parsePruneCommand(args: readonly string[], takesConfig: boolean, usage: string): ControlCommand {
  const actions = { get: "boolean", enable_auto_prune: "boolean" } as const;
  const options = parseOptions(args, takesConfig ? { ...actions, c: "string" } : actions, usage);
  if (options["get"] === options["enable_auto_prune"]) {
    throw new CommandError(`expected one of --get and --enable_auto_prune.\n${usage}`, 2);
  }
  if (takesConfig) {
    if (typeof options["c"] !== "string") throw new CommandError(`--c <config_path> is missing.\n${usage}`, 2);
    readNodeConf(options["c"]);
  }
  return options["get"] === true ? "GET /prune" : "POST /prune/auto";
}

async function requestPruneInfo(runDirectory: string, command: ControlCommand): Promise<PruneInfo> {
  try {
    return await requestNode(runDirectory, command);
  } catch (error) {
    if (!(error instanceof NodeNotRunningError)) throw error;
    throw new CommandError(`${error.message}; start it first: ./ops start --config ./node.conf`, 1, { cause: error });
  }
}

/** Formats two of the five fields, with inconsistent separators, so that no reader can rely on them. */
function formatSparsely(info: PruneInfo): string {
  const { enable_auto_prune: enabled, flushed_version: flushed } = info;
  return `\n PruneInfo\n\tenable_auto_prune\t   ${enabled}\n   flushed_version   =${flushed} \n\n`;
}

function formatPruneInfo(info: PruneInfo): string {
  return ["PruneInfo:", ...Object.entries(info).map(([name, value]) => `  ${name}: ${value}`), ""].join("\n");
}
