import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { startProcess } from "#daemon/process/bounded-process.ts";
import { isShown, readLogLine, type LineFilter, type LogLine } from "./log-line.ts";
import { findLogSources, type LogSource, type NamedLogs } from "./log-source.ts";

/** Options of `gatehouse logs`. */
export type ShowLogsOptions = NamedLogs & Readonly<{ filter: LineFilter }>;

type Dependencies = CommandOutput &
  Readonly<{
    /** Formats a JSON line for a person; undefined: lines stay as they are. */
    pretty: ((line: string) => string) | undefined;
    /** Stops following the logs. */
    signal: AbortSignal;
  }>;

/** Time in ms that a line of one log waits for older lines of other logs. */
const orderMs = 150;

/** Prints logs in the order of their times, and returns the exit status. */
export async function showLogs(options: ShowLogsOptions, dependencies: Dependencies): Promise<number> {
  let sources: readonly LogSource[];
  try {
    sources = await findLogSources(options);
  } catch (problem) {
    dependencies.error(`logs: ${(problem as Error).message}\n`);
    return exitStatus.error;
  }
  const width = Math.max(...sources.map(({ name }) => name.length));
  const print = (name: string, { text }: LogLine) => {
    const line = (dependencies.pretty?.(text) ?? text).trimEnd();
    // In JSON the line itself names its service.
    const prefix = sources.length === 1 || dependencies.pretty === undefined ? "" : `${name.padEnd(width)} | `;
    dependencies.out(`${prefix}${line}\n`);
  };
  using ordered = createLineSorter(options.follow ? orderMs : undefined, print);
  const statuses = await Promise.all(
    sources.map((source) =>
      readSource(source, {
        ...dependencies,
        add: (line) => isShown(line, options.filter) && ordered.add(source.name, line),
      }),
    ),
  );
  return Math.max(...statuses);
}

type Ordered = Disposable & Readonly<{ add: (name: string, line: LogLine) => void }>;

/** Holds lines for `holdMs` and prints them in the order of their times; if undefined, holds them until disposal. */
function createLineSorter(holdMs: number | undefined, print: (name: string, line: LogLine) => void): Ordered {
  let held: Readonly<{ name: string; line: LogLine; atMs: number }>[] = [];
  const lastMs = new Map<string, number>();
  const flush = () => {
    const lines = held.toSorted((a, b) => a.atMs - b.atMs);
    held = [];
    for (const { name, line } of lines) print(name, line);
  };
  const timer = holdMs === undefined ? undefined : setInterval(flush, holdMs);
  return {
    add: (name, line) => {
      // A line without a time belongs to the line before it.
      const atMs = line.timeMs ?? lastMs.get(name) ?? 0;
      lastMs.set(name, atMs);
      held.push({ name, line, atMs });
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
      flush();
    },
  };
}

type Reading = Pick<Dependencies, "error" | "signal"> & Readonly<{ add: (line: LogLine) => void }>;

/** Reads a program's output until it ends; returns 1 if it failed. */
async function readSource(source: LogSource, reading: Reading): Promise<number> {
  const { name, command } = source;
  const [file, ...args] = command;
  try {
    const child = await startProcess(() => spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] }));
    return await readOutput(child, source, reading);
  } catch (problem) {
    const { code } = problem as NodeJS.ErrnoException;
    reading.error(
      `logs: ${name}: ${file} can't be run (${code ?? "unknown"}); install it, or name the log's file by --file.\n`,
    );
    return exitStatus.error;
  }
}

async function readOutput(
  child: ChildProcessByStdio<null, Readable, Readable>,
  { name, command: [file] }: LogSource,
  { error, signal, add }: Reading,
): Promise<number> {
  const stop = () => void child.kill();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  // An engine passes on a container's standard error as such; from any other program, it is an error message.
  const isEngine = file === "docker";
  let complaint = "";
  const complain = (line: string) => {
    if (isEngine) add(readLogLine(line));
    complaint = line.slice(0, 300);
  };
  const read = [readLines(child.stdout, (line) => add(readLogLine(line))), readLines(child.stderr, complain)];
  try {
    const [status] = (await once(child, "close")) as [number | null];
    await Promise.all(read);
    if (status === 0 || signal.aborted) return exitStatus.clean;
    error(`logs: ${name}: ${file} ended with status ${status ?? "of a signal"}: ${complaint}\n`);
    return exitStatus.error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function readLines(input: Readable, add: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input, crlfDelay: Infinity })) add(line);
}
