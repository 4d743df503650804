import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { StartupError } from "#daemon/startup-error.ts";
import { spawned } from "#daemon/bounded-process.ts";

/** How `ops` is run. */
export type RunOpsOptions = Readonly<{ directory: string; deadlineMs: number; signal?: AbortSignal | undefined }>;

const outputKeptCharacters = 4_096;

/**
 * Runs the node's `./ops` in its bin directory, in a process group of its own, so that Ctrl-C does not reach the node.
 *
 * @throws {StartupError} with what `ops` printed, when it fails, takes longer than the deadline, or `signal` aborts.
 */
export async function runOps(args: readonly string[], { directory, deadlineMs, signal }: RunOpsOptions): Promise<void> {
  const stop = AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal === undefined ? [] : [signal])]);
  const child = spawn(join(directory, "ops"), args, {
    cwd: directory,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    signal: stop,
  });
  const what = `./ops ${args.join(" ")} in ${directory}`;
  const ended = once(child, "close");
  let said = "";
  try {
    // Both from the start: a signal may end it in the tick in which it begins.
    await Promise.race([spawned(child), ended]);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-outputKeptCharacters)));
    }
    const [status] = (await ended) as [number | null];
    if (status !== 0) throw new StartupError(`${what} failed: ${said.trim() || `status ${status}`}`);
  } catch (cause) {
    if (cause instanceof StartupError) throw cause;
    const how = stop.aborted ? `did not end within ${deadlineMs} ms` : "can't be run";
    throw new StartupError(`${what} ${how}: ${said.trim() || String(cause)}`, { cause });
  }
}
