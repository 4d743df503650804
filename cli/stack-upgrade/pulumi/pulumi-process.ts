import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProcess } from "#daemon/process/bounded-process.ts";
import { pause } from "#daemon/time.ts";
import { UpgradeError } from "#sidecar/upgrade/progress.ts";
import { killTree } from "./running-programs.ts";

/** Failure of Pulumi; the message quotes Pulumi, which masks secrets itself. */
export class PulumiError extends UpgradeError {
  override readonly name = "PulumiError";
  override readonly code = "pulumi_error";
  readonly said: string;

  constructor(message: string, said = "", options?: ErrorOptions) {
    super(message, "failed", options);
    this.said = said;
  }
}

export type PulumiRun = Readonly<{
  args: readonly string[];
  withinMs: number;
  onLine?: (line: string) => void;
}>;

export type PulumiProcessOptions = Readonly<{
  program?: string;
  /** Time that an interrupted program has to exit. */
  exitGraceMs?: number;
}>;

export type RunPulumi = (run: PulumiRun) => Promise<string>;

const outputBytesMax = 67_108_864;
const outputCharactersMax = 65_536;
/**
 * Time for an interrupted update to record its changes. Pulumi waits for calls in flight, and its Docker provider waits for a container to
 * become healthy: up to 300 seconds for a sidecar whose node doesn't respond.
 */
export const interruptMs = 420_000;
const checkAgainMs = 250;
const shownLines = 6;

/**
 * Creates a function that runs Pulumi's command line without a shell. Pulumi gets its own process group and writes its output to
 * files, so that neither Ctrl-C nor a kill of this process interrupts an update. Throws {@link PulumiError} for any exit status but 0.
 */
export function createPulumiProcess(
  directory: string,
  { program = "pulumi", exitGraceMs = interruptMs }: PulumiProcessOptions = {},
): RunPulumi {
  return async (run) => {
    const { args } = run;
    const name = `pulumi ${args.slice(0, 2).join(" ")}`;
    await using output = await openOutput();
    await using errors = await openOutput();
    const stdio = ["ignore" as const, output.fd, errors.fd];
    const child = await startProcess(() => spawn(program, args, { cwd: directory, detached: true, stdio })).catch(
      (cause: NodeJS.ErrnoException) => {
        const advice = "install Pulumi (https://www.pulumi.com/docs/install/), and have it on the PATH";
        const why = `${name} can't be run in ${directory} (${cause.code ?? "unknown"}); ${advice}.`;
        throw new PulumiError(why, "", { cause });
      },
    );
    const ended = once(child, "exit") as Promise<[number | null, string | null]>;
    const why = await followToEnd(child, [output, errors], exitGraceMs, run);
    const [status, signal] = await ended;
    const printed = await readOutput(output);
    if (status === 0 && why === undefined) return printed;
    const said = `${printed}\n${await readOutput(errors)}`.slice(-outputCharactersMax);
    const shown = pickLines(said);
    const end = why ?? `ended with ${status ?? signal ?? "nothing"}`;
    throw new PulumiError(`${name} ${end}${shown === "" ? "." : `: ${shown}`}`, said);
  };
}

/** Opens an unnamed file that only this user can read: unlike a pipe, it still accepts output after this process is killed. */
async function openOutput(): Promise<FileHandle> {
  const path = join(tmpdir(), `gatehouse-${randomUUID()}.out`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  return file;
}

async function readOutput(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, outputBytesMax)), { position: 0 });
  return buffer.toString("utf8", 0, bytesRead);
}

/** Interrupts the program at a limit, kills it if it doesn't exit then, and returns a description of that limit. */
async function followToEnd(
  child: ChildProcess,
  files: readonly FileHandle[],
  exitGraceMs: number,
  { withinMs, onLine }: PulumiRun,
): Promise<string | undefined> {
  const beganMs = performance.now();
  const shown = files.map(() => 0);
  let over: Readonly<{ why: string; atMs: number }> | undefined;
  for (;;) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    for (const [at, file] of onLine === undefined ? [] : files.entries()) {
      const text = await readOutput(file);
      const end = hasEnded ? text.length : text.lastIndexOf("\n") + 1;
      const lines = text.slice(shown[at], end).split("\n");
      for (const line of lines) if (line !== "") onLine?.(line);
      shown[at] = end;
    }
    if (hasEnded) return over?.why;
    const nowMs = performance.now();
    if (over !== undefined && nowMs - over.atMs > exitGraceMs && child.pid !== undefined) await killTree(child.pid);
    const sizes = await Promise.all(files.map(async (file) => (await file.stat()).size));
    const isLarge = sizes.some((size) => size > outputBytesMax);
    const late = nowMs - beganMs > withinMs ? `took longer than ${withinMs} ms` : undefined;
    const why = late ?? (isLarge ? `printed more than ${outputBytesMax} bytes` : undefined);
    if (over === undefined && why !== undefined) {
      over = { why, atMs: nowMs };
      // Sent only once: on a second SIGINT, Pulumi exits without recording its changes.
      child.kill("SIGINT");
    }
    await pause(checkAgainMs);
  }
}

/** Picks the lines that report errors, which precede a summary; else the last lines. */
function pickLines(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  const errors = new Set(lines.filter((line) => line.startsWith("error: ") && line !== "error: update failed"));
  const shown = errors.size > 0 ? [...errors] : lines.filter((line) => line !== "");
  return shown.slice(-shownLines).join(" | ");
}
