import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { StartupError } from "#daemon/startup-error.ts";

const run = promisify(execFile);

/** How the node is started and stopped. */
export type NodeProcessOptions = Readonly<{
  /** Folder of `ops` and `node.conf`. */
  binDirectory: string;
  startDeadlineMs: number;
  stopDeadlineMs: number;
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
  const startedAt = performance.now();
  await ops(options.binDirectory, ["start", "--config", "./node.conf"], options.startDeadlineMs);
  return {
    readyAfterMs: Math.round(performance.now() - startedAt),
    [Symbol.asyncDispose]: () => ops(options.binDirectory, ["stop", "--force"], options.stopDeadlineMs),
  };
}

async function ops(directory: string, args: readonly string[], deadlineMs: number): Promise<void> {
  try {
    await run("./ops", args, { cwd: directory, timeout: deadlineMs, maxBuffer: 1_000_000 });
  } catch (cause) {
    const { stdout = "", stderr = "" } = cause as { stdout?: string; stderr?: string };
    const said = `${stdout}${stderr}`.trim() || (cause as Error).message;
    throw new StartupError(`./ops ${args.join(" ")} in ${directory} failed: ${said}`, { cause });
  }
}
