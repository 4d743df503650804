import { fork, type ChildProcess } from "node:child_process";
import { closeSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { within } from "#daemon/time.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { stopChild } from "#daemon/process/stop-child.ts";
import { waitForAbort } from "#daemon/process/stop-signal.ts";
import { openLogFile, trimLogFile } from "./log-file.ts";

/** One service of the embedded stack: a `gatehouse` subcommand in its own process. */
export type ChildServiceSpec = Readonly<{
  name: string;
  env: Readonly<Record<string, string>>;
}>;

export type ChildServiceOptions = Readonly<{
  program: string;
  logDirectory: string;
  readyDeadlineMs: number;
  stopDeadlineMs: number;
  signal: AbortSignal;
}>;

/** A running child. Disposal sends SIGTERM, waits for its grace period, then sends SIGKILL. */
export type ChildService = AsyncDisposable &
  Readonly<{
    name: string;
    pid: number;
    urls: Readonly<Record<string, string>>;
    readyAfterMs: number;
    exited: Promise<string>;
  }>;

const logTrimIntervalMs = 30_000;
const lastOutputCharactersMax = 2_000;

/**
 * Starts a service and waits until it accepts requests. Its output goes to `<logDirectory>/<name>.log`, which is trimmed. The child watches
 * the IPC channel, and exits when this process dies.
 *
 * @throws {StartupError} when it exits before it is ready, with its last output, or misses the deadline.
 */
export async function startChildService(spec: ChildServiceSpec, options: ChildServiceOptions): Promise<ChildService> {
  const startedAt = performance.now();
  const logPath = join(options.logDirectory, `${spec.name}.log`);
  const child = spawnService(spec, options.program, logPath);
  const trim = () => {
    try {
      trimLogFile(logPath);
    } catch (error) {
      // The disk is full, or file descriptors ran out, or a link replaced the file; a later call retries.
      process.stderr.write(`${logPath} can't be truncated for now: ${String(error)}\n`);
    }
  };
  const trimTimer = setInterval(trim, logTrimIntervalMs).unref();
  const exitEvent = waitForExit(child).finally(() => clearInterval(trimTimer));
  const stop = () => stopChild(child, { deadlineMs: options.stopDeadlineMs });
  try {
    const startResult = Promise.race([
      waitForReady(child),
      failIfExitedEarly(spec.name, exitEvent, logPath),
      failIfAborted(options.signal),
    ]);
    const urls = await within(`${spec.name} becoming ready`, options.readyDeadlineMs, startResult);
    return {
      name: spec.name,
      pid: child.pid ?? 0,
      urls,
      readyAfterMs: Math.round(performance.now() - startedAt),
      exited: exitEvent,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function spawnService({ name, env }: ChildServiceSpec, program: string, logPath: string): ChildProcess {
  const log = openLogFile(logPath);
  try {
    // Starts the service in its own process group: Ctrl-C reaches only this process, which controls the shutdown order.
    return fork(program, [name], { env: { ...env }, detached: true, stdio: ["ignore", log, log, "ipc"] });
  } finally {
    closeSync(log);
  }
}

/** Waits for a process to exit; resolves with its status or signal, or the reason why it never ran. */
export async function waitForExit(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once("exit", (status, signal) => resolve(signal ?? `status ${status}`));
  child.on("error", (error: NodeJS.ErrnoException) => {
    // Errors of a running child, e.g. a message that can't be sent, are reported at its exit.
    if (child.pid === undefined) resolve(`${error.code ?? error.message}, before it ran`);
  });
  return promise;
}

type ReadyMessage = Readonly<{ type: "ready"; urls: Record<string, string> }>;

function waitForReady(child: ChildProcess): Promise<Record<string, string>> {
  return new Promise((resolve) => {
    child.on("message", ({ type, urls }: ReadyMessage) => type === "ready" && resolve(urls));
  });
}

/** @throws {StartupError} with the program's last output, once it has exited. */
export async function failIfExitedEarly(name: string, exitEvent: Promise<string>, logPath: string): Promise<never> {
  const how = await exitEvent;
  const said = readFileSync(logPath, "utf8").trim().slice(-lastOutputCharactersMax);
  throw new StartupError(`${name} exited with ${how} before it was ready; the tail of ${logPath}:\n${said}`);
}

async function failIfAborted(signal: AbortSignal): Promise<never> {
  await waitForAbort(signal);
  throw new StartupError("the startup was interrupted");
}
