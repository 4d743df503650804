import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type ProcessFailureReason, type ProcessResult, runProcess } from "#daemon/process/bounded-process.ts";
import type { NodeFamily } from "#node/families.ts";
import { parsePruneInfo, type PruneInfo } from "#node/prune-info.ts";

export type NodeCliRunner = (args: readonly string[], signal: AbortSignal) => Promise<ProcessResult>;

export type NodeCliResult<T> = Readonly<
  { ok: true; value: T } | { ok: false; reason: ProcessFailureReason | "UnexpectedOutput"; message: string }
>;

export type NodeCli = Readonly<{
  pruneInfo: (signal: AbortSignal) => Promise<NodeCliResult<PruneInfo>>;
  /** Returns the tool's error output, or an empty string. Only `pruneInfo` shows whether pruning is now enabled. */
  enableAutoPrune: (signal: AbortSignal) => Promise<NodeCliResult<string>>;
  version: (signal: AbortSignal) => Promise<NodeCliResult<string>>;
  /** Returns the command that enables auto-pruning, for the operator to run in the programs' directory. */
  enableCommand: () => string;
}>;

/** Syntax of the tool's commands, which depends on the node's version: whether the tool takes `--c <config_path>`. */
export type NodeCliForm = Readonly<{ takesConfig: boolean; configArgument: string }>;

const enableOption = "--enable_auto_prune";

/** Creates the tool's commands from a runner. The program that prints the version may have a different runner. */
export function createNodeCli(form: () => NodeCliForm, run: NodeCliRunner, runForVersion = run): NodeCli {
  const buildPrune = (option: string) => {
    const { takesConfig, configArgument } = form();
    return takesConfig ? ["prune", "--c", configArgument, option] : ["prune", option];
  };
  const runPrune = (option: string, signal: AbortSignal) => run(buildPrune(option), signal);
  return {
    pruneInfo: async (signal) => {
      const result = await runPrune("--get", signal);
      if (!result.ok) return result;
      const parsed = parsePruneInfo(result.output);
      if (parsed.ok) return { ok: true, value: parsed.info };
      const { failureOutput } = result;
      const why = failureOutput === undefined ? "" : ` It said: ${failureOutput}`;
      return { ok: false, reason: "UnexpectedOutput", message: `node_cli prune --get ${parsed.message}${why}` };
    },
    enableAutoPrune: async (signal) => {
      const result = await runPrune(enableOption, signal);
      return result.ok ? { ok: true, value: result.failureOutput ?? "" } : result;
    },
    enableCommand: () => ["node_cli", ...buildPrune(enableOption)].join(" "),
    version: async (signal) => {
      const result = await runForVersion(["--version"], signal);
      return result.ok ? { ok: true, value: result.output } : result;
    },
  };
}

/** Runtimes exit with 127 for a missing program and 126 for one that can't be executed; Docker 20.10 with 126 for both, with another text. */
export function explainExit(name: string, exitCode: number | null, said: string): ProcessResult {
  const isAbsent = /no such file or directory|not found/.test(said);
  if (exitCode === 127 || (exitCode === 126 && isAbsent)) {
    const message = `${name} is missing (${said}); set nodeCli.command, or nodeCli.containerBinDirectory.`;
    return { ok: false, reason: "NotFound", message };
  }
  if (exitCode === 126) {
    return { ok: false, reason: "NotExecutable", message: `${name} can't be executed (${said}); run chmod +x on it.` };
  }
  const why = said === "" ? "." : `: ${said}`;
  return { ok: false, reason: "Failed", message: `${name} exited with status ${exitCode}${why}` };
}

/** Explains that a program in a container exceeded its time limit; it may still be running there. */
export function explainAbandoned(name: string, timeoutMs: number): ProcessResult {
  const message = `${name} did not finish within ${timeoutMs} ms and was abandoned; run it manually to see why.`;
  return { ok: false, reason: "TimedOut", message };
}

/** Explains that an abandoned program is still running, which blocks further runs; `which` is its process, if known. */
export function explainStillRunning(name: string, which = ""): ProcessResult {
  const message = `${name} is still running from an earlier call${which}; kill it, or restart the container.`;
  return { ok: false, reason: "TimedOut", message };
}

/** The tool's file name or path, its working directory, and, if the release includes it, the library in that directory that the tool needs. */
export type ToolLocation = Readonly<{ directory: string; command: string; preload?: string | undefined }>;

/** Returns the name of the program that prints the version: the tool, or, in families identified by the commit of the node's own program, that program. */
export function chooseVersionProgram({ versionedBy, programs }: NodeFamily, command: string | undefined): string {
  const tool = command ?? programs.tool;
  return versionedBy === "commit" ? (programs.process ?? tool) : tool;
}

export type LocalNodeCliOptions = Readonly<{
  timeoutMs: number;
  outputLimitBytes: number;
  passes?: readonly string[];
}>;

export function createLocalNodeCli(options: LocalNodeCliOptions, locateTool: () => ToolLocation): NodeCliRunner {
  return (args, signal) => runLocalTool(options, locateTool(), args, signal);
}

/** Runs one of the node's programs in its directory, with the library there that the program needs. */
export function runLocalTool(
  { timeoutMs, outputLimitBytes, passes }: LocalNodeCliOptions,
  { directory, command: tool, preload }: ToolLocation,
  args: readonly string[],
  signal: AbortSignal,
): Promise<ProcessResult> {
  const file = isAbsolute(tool) ? tool : join(directory, tool);
  const isNeeded = preload !== undefined && existsSync(join(directory, preload));
  const command = [...(isNeeded ? ["env", `LD_PRELOAD=./${preload}`] : []), file, ...args];
  return runProcess({ timeoutMs, outputLimitBytes, passes, command, directory, signal });
}
