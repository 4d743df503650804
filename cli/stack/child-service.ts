import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createStream } from "rotating-file-stream";
import { within } from "#daemon/deadline.ts";
import { StartupError } from "#daemon/startup-error.ts";

/** One service of the embedded stack: a `gatehouse` subcommand in a process of its own. */
export type ChildServiceSpec = Readonly<{
  /** The subcommand; also the name of its log file. */
  name: string;
  /** The whole environment of the process. */
  env: Readonly<Record<string, string>>;
}>;

/** Where children are started and what is bounded. */
export type ChildServiceOptions = Readonly<{
  program: string;
  logDirectory: string;
  readyDeadlineMs: number;
  stopDeadlineMs: number;
}>;

/** A running child. Disposing of it sends SIGTERM, waits for its grace period, then SIGKILL. */
export type ChildService = AsyncDisposable &
  Readonly<{
    name: string;
    pid: number;
    urls: Readonly<Record<string, string>>;
    readyAfterMs: number;
    /** Resolves with what ended the process. */
    exited: Promise<string>;
  }>;

const logFileLimit = { size: "10M", maxFiles: 2 } as const;
const lastWordsBytesMax = 2_000;

/**
 * Starts a service and waits until it takes requests. Its output goes to `<logDirectory>/<name>.log`, which is kept under
 * 30 MB. The child ends by itself when this process dies, because it watches the IPC channel.
 *
 * @throws {StartupError} when it ends before it is ready, with its last words, or is not ready within the deadline.
 */
export async function startChildService(spec: ChildServiceSpec, options: ChildServiceOptions): Promise<ChildService> {
  const startedAt = performance.now();
  const child = fork(options.program, [spec.name], {
    env: spec.env,
    // A group of its own, so that Ctrl-C reaches this process alone and it decides the order of the stop.
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const exited = exit(child);
  const words = keepOutput(child, spec.name, options.logDirectory);
  try {
    const urls = await within(
      `${spec.name} becoming ready`,
      options.readyDeadlineMs,
      ready(child, spec.name, exited, words),
    );
    return {
      name: spec.name,
      pid: child.pid ?? 0,
      urls,
      readyAfterMs: Math.round(performance.now() - startedAt),
      exited,
      [Symbol.asyncDispose]: () => stop(child, exited, options.stopDeadlineMs),
    };
  } catch (error) {
    await stop(child, exited, options.stopDeadlineMs);
    throw error;
  }
}

async function exit(child: ChildProcess): Promise<string> {
  const [status, signal] = (await once(child, "exit")) as [number | null, string | null];
  return signal === null ? `status ${status}` : signal;
}

/** Writes the child's output to its log file and remembers the end of it. */
function keepOutput(child: ChildProcess, name: string, directory: string): () => string {
  const file = createStream(`${name}.log`, { path: directory, ...logFileLimit });
  let tail = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      tail = (tail + chunk.toString("utf8")).slice(-lastWordsBytesMax);
      file.write(chunk);
    });
  }
  child.once("close", () => file.end());
  return () => tail.trim() || `nothing; see ${join(directory, `${name}.log`)}`;
}

type ReadyMessage = Readonly<{ type: "ready"; urls: Record<string, string> }>;

async function ready(
  child: ChildProcess,
  name: string,
  exited: Promise<string>,
  lastWords: () => string,
): Promise<Record<string, string>> {
  const message = new Promise<ReadyMessage>((resolve) => {
    child.on("message", (value: ReadyMessage) => {
      if (value.type === "ready") resolve(value);
    });
  });
  const ended = exited.then((how) => {
    throw new StartupError(`${name} ended with ${how} before it was ready. It said: ${lastWords()}`);
  });
  return (await Promise.race([message, ended])).urls;
}

async function stop(child: ChildProcess, exited: Promise<string>, deadlineMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
  await exited;
  clearTimeout(timer);
}
