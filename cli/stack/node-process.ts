import { existsSync, globSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { formatArgument } from "#node/layout.ts";
import { findRunningNode } from "#devnet/node/running-node.ts";
import { startProcess } from "#daemon/process/bounded-process.ts";
import { selectVariables } from "#daemon/process/program-environment.ts";

type NodeLocation = Readonly<{ directory: string; runDirectory: string }>;

export type NodeProcessOptions = Readonly<{
  opsDirectory: string;
  configPath: string;
  runDirectory: string;
  startDeadlineMs: number;
  stopDeadlineMs: number;
  signal: AbortSignal;
  /** The command that starts the stack with a new chain and node.conf. */
  freshStart: string;
}>;

/** A node started with its own `ops`. Disposal runs `./ops stop --force`. */
export type NodeProcess = AsyncDisposable & Readonly<{ readyAfterMs: number }>;

/**
 * Starts the node like an operator (specification, "Node command line"): `./ops start --config ./node.conf` in the directory of `ops`;
 * `ops` returns once the node responds.
 *
 * @throws {StartupError} with the output of `ops`.
 */
export async function startNode(options: NodeProcessOptions): Promise<NodeProcess> {
  const { opsDirectory, configPath, runDirectory, startDeadlineMs, signal } = options;
  const startedAt = performance.now();
  const stop = () => stopNode({ directory: opsDirectory, runDirectory }, options.stopDeadlineMs);
  try {
    await runOps(["start", "--config", formatArgument(configPath, opsDirectory)], {
      directory: opsDirectory,
      deadlineMs: startDeadlineMs,
      signal,
    });
  } catch (error) {
    await stop();
    throw error instanceof StartupError ? adviseOnConfig(error, options) : error;
  }
  return { readyAfterMs: Math.round(performance.now() - startedAt), [Symbol.asyncDispose]: stop };
}

/** Adds what to do about an error that names node.conf. */
function adviseOnConfig(error: StartupError, { configPath, freshStart }: NodeProcessOptions): StartupError {
  if (!error.message.includes(`${configPath}:`)) return error;
  const here = process.cwd();
  const check = `${formatOwnCommand(here)} config lint ${quoteShellWord(relative(here, configPath))}`;
  const advice = `Check it with ${check}, or start over with ${freshStart}, which deletes the chain.`;
  return new StartupError([...error.problems, advice], { cause: error });
}

/** Stops any node that runs in a workspace, to free its ports; a killed stack may have left it, or the user may have started it. */
export async function stopLeftoverNode(workspace: string, stopDeadlineMs: number): Promise<void> {
  const runDirectory = join(workspace, "run");
  if (!existsSync(join(runDirectory, "node.pid"))) return;
  const [ops] = globSync(["bin/ops", "ops", "*/domain/client/bin/ops"], { cwd: workspace });
  if (ops !== undefined) await stopNode({ directory: join(workspace, dirname(ops)), runDirectory }, stopDeadlineMs);
}

/**
 * Stops a node with its own `ops`; kills it on timeout, so that nothing of the stack remains.
 *
 * @throws {StartupError} if it was killed.
 */
async function stopNode({ directory, runDirectory }: NodeLocation, deadlineMs: number): Promise<void> {
  try {
    await runOps(["stop", "--force"], { directory, deadlineMs });
  } catch (cause) {
    const node = await findRunningNode(runDirectory);
    if (node === undefined) return;
    sendSignal(node.pid, "SIGKILL");
    throw new StartupError(`${(cause as Error).message}; the node (process ${node.pid}) was killed.`, { cause });
  }
}

export type RunOpsOptions = Readonly<{ directory: string; deadlineMs: number; signal?: AbortSignal | undefined }>;

const outputKeptCharacters = 4_096;

/**
 * Runs the node's `./ops` in its bin directory, in its own process group, so that Ctrl-C does not reach the node, and without the services' secrets.
 *
 * @throws {StartupError} with the output of `ops`, when it fails, exceeds the deadline, or `signal` aborts.
 */
export async function runOps(args: readonly string[], { directory, deadlineMs, signal }: RunOpsOptions): Promise<void> {
  const stop = AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal === undefined ? [] : [signal])]);
  const what = `./ops ${args.join(" ")} in ${directory}`;
  let said = "";
  try {
    const child = await startProcess(() =>
      spawn(join(directory, "ops"), args, {
        cwd: directory,
        env: selectVariables(),
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
    const ended = once(child, "close", { signal: stop });
    ended.catch(() => child.kill());
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-outputKeptCharacters)));
    }
    const [status] = (await ended) as [number | null];
    if (status !== 0) throw new StartupError(`${what} failed: ${said.trim() || `status ${status}`}`);
  } catch (cause) {
    if (cause instanceof StartupError) throw cause;
    const how = stop.aborted ? `did not exit within ${deadlineMs} ms` : "can't be run";
    throw new StartupError(`${what} ${how}: ${said.trim() || String(cause)}`, { cause });
  }
}
