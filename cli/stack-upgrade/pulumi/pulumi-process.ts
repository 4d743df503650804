import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Writable } from "node:stream";
import { startProcess } from "#daemon/process/bounded-process.ts";
import { pause } from "#daemon/time.ts";
import { endProcessTree } from "./processes.ts";
import { openScratchFile, scratchBytesMax, type ScratchFile } from "./scratch-file.ts";

/** Failure of Pulumi; the message quotes Pulumi, which masks secrets itself. */
export class PulumiError extends Error {
  override readonly name = "PulumiError";
  readonly code = "pulumi_error";
  /** Tail of its output. */
  readonly said: string;

  constructor(message: string, said = "", options?: ErrorOptions) {
    super(message, options);
    this.said = said;
  }
}

/** One run of Pulumi's command line. */
export type PulumiRun = Readonly<{
  args: readonly string[];
  withinMs: number;
  /** Called with each line as it arrives. */
  onLine?: (line: string) => void;
  /** Called with the process id before the program starts in that process. If the callback throws, or if this process exits first, the program never starts. */
  onBegin?: (pid: number) => Promise<void>;
}>;

export type PulumiProcessOptions = Readonly<{
  program?: string;
  /** Time between interrupt and kill. */
  notedMs?: number;
}>;

/** Runs Pulumi and returns its standard output. */
export type RunPulumi = (run: PulumiRun) => Promise<string>;

const wordsLength = 65_536;
/**
 * Time for an interrupted update to record its changes. Pulumi waits for calls in flight, and its Docker provider waits for a container to
 * become healthy: up to 300 seconds for a sidecar whose node doesn't respond.
 */
export const interruptMs = 420_000;
const checkAgainMs = 250;
const shownLines = 6;

/** Shell that waits for the word `go`, then execs the program in its arguments; exits if its parent has exited. */
const gate = 'read -r word <&3 && [ "$word" = go ] && exec "$@" 3<&-';

/**
 * Creates a function that runs Pulumi's command line without a shell. Pulumi gets its own process group and prints to files, so that
 * neither Ctrl-C nor a kill of this process interrupts an update. Throws {@link PulumiError} for any exit status but 0.
 */
export function createPulumiProcess(
  directory: string,
  { program = "pulumi", notedMs = interruptMs }: PulumiProcessOptions = {},
): RunPulumi {
  return async ({ args, withinMs, onLine, onBegin }) => {
    const name = `pulumi ${args.slice(0, 2).join(" ")}`;
    await using output = await openScratchFile();
    await using errors = await openScratchFile();
    const command = onBegin === undefined ? [program, ...args] : ["sh", "-c", gate, "sh", program, ...args];
    const stdio = ["ignore", output.fd, errors.fd, ...(onBegin === undefined ? [] : ["pipe" as const])] as const;
    const child = await startProcess(() =>
      spawn(command[0] ?? program, command.slice(1), { cwd: directory, detached: true, stdio: [...stdio] }),
    ).catch((cause: NodeJS.ErrnoException) => {
      const advice = "install Pulumi (https://www.pulumi.com/docs/install/), and have it on the PATH";
      throw new PulumiError(`${name} can't be run in ${directory} (${cause.code ?? "unknown"}); ${advice}.`, "", {
        cause,
      });
    });
    const ended = once(child, "exit") as Promise<[number | null, string | null]>;
    await openGate(child, onBegin);
    const why = await followToEnd(child, { files: [output, errors], withinMs, notedMs, onLine });
    const [status, signal] = await ended;
    const printed = await output.text();
    if (status === 0 && why === undefined) return printed;
    const said = `${printed}\n${await errors.text()}`.slice(-wordsLength);
    const shown = pickLines(said);
    throw new PulumiError(
      `${name} ${why ?? `ended with ${status ?? signal ?? "nothing"}`}${shown === "" ? "." : `: ${shown}`}`,
      said,
    );
  };
}

async function openGate({ pid, stdio }: ChildProcess, onBegin: PulumiRun["onBegin"]): Promise<void> {
  const opening = stdio[3];
  if (onBegin === undefined || pid === undefined || !(opening instanceof Writable)) return;
  // If the process has already exited, its exit status reports that.
  opening.on("error", () => {});
  try {
    await onBegin(pid);
    opening.end("go\n");
  } catch (error) {
    opening.destroy();
    throw error;
  }
}

type Following = Readonly<{
  files: readonly ScratchFile[];
  withinMs: number;
  notedMs: number;
  onLine: PulumiRun["onLine"];
}>;

/** Forwards a program's output lines until it exits. Interrupts the program if it reaches a limit, and returns a description of that limit. */
async function followToEnd(
  child: ChildProcess,
  { files, withinMs, notedMs, onLine }: Following,
): Promise<string | undefined> {
  const beganMs = performance.now();
  let over: Readonly<{ why: string; atMs: number }> | undefined;
  for (;;) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    for (const file of files) for (const line of await file.newLines(hasEnded)) onLine?.(line);
    if (hasEnded) return over?.why;
    const nowMs = performance.now();
    if (over !== undefined && nowMs - over.atMs > notedMs && child.pid !== undefined) await endProcessTree(child.pid);
    const why = over === undefined ? await findLimit(files, nowMs - beganMs, withinMs) : undefined;
    if (why !== undefined) {
      over = { why, atMs: nowMs };
      // Sent only once: on a second SIGINT, Pulumi exits without recording its changes.
      child.kill("SIGINT");
    }
    await pause(checkAgainMs);
  }
}

async function findLimit(files: readonly ScratchFile[], runMs: number, withinMs: number): Promise<string | undefined> {
  if (runMs > withinMs) return `took longer than ${withinMs} ms`;
  for (const file of files) {
    if ((await file.bytes()) > scratchBytesMax) return `printed more than ${scratchBytesMax} bytes`;
  }
  return undefined;
}

/** Picks the lines that report errors, which precede a summary; else the last lines. */
function pickLines(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  const errors = new Set(lines.filter((line) => line.startsWith("error: ") && line !== "error: update failed"));
  const shown = errors.size > 0 ? [...errors] : lines.filter((line) => line !== "");
  return shown.slice(-shownLines).join(" | ");
}
