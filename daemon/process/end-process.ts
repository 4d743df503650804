import type { Writable } from "node:stream";
import { outlivesReader } from "../log/bounded-output.ts";
import { pause } from "../time.ts";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import type { Mask } from "../secrets/mask.ts";
import v8Flags from "./v8-flags.json" with { type: "json" };

/** Time that the end of a process waits for readers of what it printed, and for calls under way. */
const waitMs = 1_000;
const lookAgainMs = 20;

/** Time that V8's threads have to finish compiling functions: each takes a few milliseconds. */
const compiledMs = 50;

/** Node's names for the calls in its threads that it waits for at the exit: of files, and of names. */
const threadCall = /^(FSReq|GetAddrInfoReq|GetNameInfoReq)/;

/**
 * Ends the process with a status, whatever call hangs. What it printed is given a second to be read. Calls of the file system have a second, too, and then the
 * process kills itself (status 137 in a shell), since Node waits at the exit for its threads, and with them for ever for a server of files that is gone. The
 * first process of a container can't do that (pid_namespaces(7)): the engine kills it after its grace time.
 *
 * Before it exits, V8 compiles nothing more: Node joins V8's threads at the exit, and a thread that compiles may need a garbage collection for that, which only the
 * main thread does, so both would wait for ever (https://github.com/nodejs/node/issues/54918).
 */
export async function endProcess(status: number): Promise<never> {
  for (const flag of v8Flags.exit) setFlagsFromString(flag);
  const compiled = pause(compiledMs);
  const over = AbortSignal.timeout(waitMs);
  await Promise.race([
    Promise.all([waitUntilPrinted(process.stdout), waitUntilPrinted(process.stderr)]),
    pause(waitMs, over),
  ]);
  while (listThreadCalls().length > 0 && !over.aborted) await pause(lookAgainMs, over);
  if (listThreadCalls().length > 0) process.kill(process.pid, "SIGKILL");
  await compiled;
  process.exit(status);
}

/** Lists the calls in Node's threads that are under way, each by Node's name for its kind. */
export function listThreadCalls(): readonly string[] {
  return process.getActiveResourcesInfo().filter((name) => threadCall.test(name));
}

/** Resolves when all that was written is read, or can't be any more. */
async function waitUntilPrinted(stream: Writable): Promise<void> {
  // Without a listener, a reader that is gone would be one more uncaught error, which prints, ends the process by this function, and so on for ever.
  outlivesReader(stream);
  await new Promise<void>((resolve) => void stream.write("", () => resolve()));
}

/**
 * Ends the process for an error that nobody caught, or a promise that nobody looked at, as Node does: with its trace on standard error and status
 * 1. But through the mask, because traces and causes quote URLs, headers and requests.
 */
export function maskUncaughtErrors(mask: Mask): void {
  process.on("uncaughtException", (error: unknown) => {
    process.stderr.write(`${mask.text(inspect(error))}\n`);
    void endProcess(1);
  });
}
