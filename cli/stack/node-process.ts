import { existsSync, globSync } from "node:fs";
import { dirname, join } from "node:path";
import { runOps } from "./run-ops.ts";

/** How the node is started and stopped. */
export type NodeProcessOptions = Readonly<{
  /** Folder of `ops` and `node.conf`. */
  binDirectory: string;
  startDeadlineMs: number;
  stopDeadlineMs: number;
  /** Cuts the start off. */
  signal: AbortSignal;
}>;

/** A node that its own `ops` started. Disposing of it runs `./ops stop --force`. */
export type NodeProcess = AsyncDisposable & Readonly<{ readyAfterMs: number }>;

/**
 * Starts the node as an operator does (specification, "Node command line"): `./ops start --config ./node.conf` in its bin
 * directory; `ops` returns once the node answers.
 *
 * @throws {StartupError} with what `ops` printed.
 */
export async function startNode(options: NodeProcessOptions): Promise<NodeProcess> {
  const { binDirectory, startDeadlineMs, signal } = options;
  const startedAt = performance.now();
  const stop = () => stopNode(binDirectory, options.stopDeadlineMs);
  try {
    await runOps(["start", "--config", "./node.conf"], {
      directory: binDirectory,
      deadlineMs: startDeadlineMs,
      signal,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { readyAfterMs: Math.round(performance.now() - startedAt), [Symbol.asyncDispose]: stop };
}

/** Stops the node that a killed stack left running in a workspace, if there is one, so that its ports are free again. */
export async function stopLeftNode(workspace: string, stopDeadlineMs: number): Promise<void> {
  if (!existsSync(join(workspace, "run", "node.pid"))) return;
  const [ops] = globSync(["bin/ops", "*/domain/client/bin/ops"], { cwd: workspace });
  if (ops !== undefined) await stopNode(join(workspace, dirname(ops)), stopDeadlineMs);
}

async function stopNode(directory: string, deadlineMs: number): Promise<void> {
  await runOps(["stop", "--force"], { directory, deadlineMs });
}
