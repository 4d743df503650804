import type { Writable } from "node:stream";
import { ignoreStreamErrors } from "../log/bounded-output.ts";
import { pause } from "../time.ts";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import type { Mask } from "../secrets/mask.ts";
import v8Flags from "./v8-flags.json" with { type: "json" };

/** Time that a process's exit waits for readers of its output, and for calls in flight. */
const waitMs = 1_000;
const checkAgainMs = 20;

/** Time for V8's threads to finish compiling functions: each takes a few milliseconds. */
const compiledMs = 50;

/** Node's names for the thread pool calls that it waits for at exit: file operations and DNS lookups. */
const threadCall = /^(FSReq|GetAddrInfoReq|GetNameInfoReq)/;

/**
 * Exits the process with a status, even if a call hangs. Waits a second for readers of its output. Also waits a second for file system
 * calls; then the process kills itself (status 137 in a shell), since Node waits for its threads at exit, which takes forever if a file
 * server is unreachable. The first process of a container can't kill itself (pid_namespaces(7)): the engine kills it after its grace
 * period.
 *
 * Stops V8 compilation before the exit: Node joins V8's threads at exit, and a compiling thread may need a garbage collection, which only
 * the main thread runs, so both would wait forever (https://github.com/nodejs/node/issues/54918).
 */
export async function endProcess(status: number): Promise<never> {
  for (const flag of v8Flags.exit) setFlagsFromString(flag);
  const compileTimeout = pause(compiledMs);
  const over = AbortSignal.timeout(waitMs);
  await Promise.race([
    Promise.all([waitUntilPrinted(process.stdout), waitUntilPrinted(process.stderr)]),
    pause(waitMs, over),
  ]);
  while (listThreadPoolCalls().length > 0 && !over.aborted) await pause(checkAgainMs, over);
  if (listThreadPoolCalls().length > 0) process.kill(process.pid, "SIGKILL");
  await compileTimeout;
  process.exit(status);
}

/** Lists the thread pool calls in flight, by Node's names for their kinds. */
export function listThreadPoolCalls(): readonly string[] {
  return process.getActiveResourcesInfo().filter((name) => threadCall.test(name));
}

/** Resolves when all output has been read, or can no longer be read. */
export async function waitUntilPrinted(stream: Writable): Promise<void> {
  // Without a listener, a closed reader would cause another uncaught error, which would print and call this function again, endlessly.
  ignoreStreamErrors(stream);
  await new Promise<void>((resolve) => void stream.write("", () => resolve()));
}

/**
 * Exits the process on an uncaught error or unhandled rejection, like Node, with a trace on standard error and status 1, but masks the
 * trace, because traces and causes quote URLs, headers and requests.
 */
export function maskUncaughtErrors(mask: Mask): void {
  process.on("uncaughtException", (error: unknown) => {
    process.stderr.write(`${mask.text(inspect(error))}\n`);
    void endProcess(1);
  });
}
