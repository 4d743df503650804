import { createTimeoutSignal } from "#daemon/time.ts";
import {
  buildExitResult,
  endedByStop,
  endGroup,
  explainTimeout,
  startProgram,
  type ProcessOptions,
  type ProcessResult,
} from "#daemon/process/bounded-process.ts";
import type { OutputFiles } from "./output-files.ts";

/** A program that may leave a process behind, or keep running itself. */
export type LongRunningProcessOptions = Omit<ProcessOptions, "outputLimitBytes"> &
  Readonly<{
    /** Name of the program's output files. */
    name: string;
    /**
     * Resolves to true once the program has done its work, even though it has not exited: it is then left running. `signal` aborts at the
     * time limit, when the function must resolve.
     */
    isDone?: (signal: AbortSignal) => Promise<boolean>;
  }>;

/** Ids of the processes that this process started and left running. */
const detachedPrograms = new Set<number>();

export function isDetachedProgram(pid: number): boolean {
  return detachedPrograms.has(pid);
}

/**
 * Runs a program like `runProcess`, but redirects its output to files, never to a pipe of this process. A daemon that the program starts
 * inherits the output: if that were a pipe, the daemon's next write would kill it (SIGPIPE) once this process closes its end.
 */
export async function runLongRunningProcess(
  options: LongRunningProcessOptions,
  files: OutputFiles,
): Promise<ProcessResult> {
  const { name, timeoutMs, signal, isDone } = options;
  const [file = ""] = options.command;
  await using output = await files.open(name);
  const child = await startProgram(options, ["ignore", ...output.descriptors]);
  if ("ok" in child) return child;
  const { promise, resolve, reject } = Promise.withResolvers<"exited" | "late" | "stopped" | "done" | Error>();
  const timeout = createTimeoutSignal(timeoutMs);
  const closeController = new AbortController();
  const stop = () => resolve("stopped");
  child.on("error", resolve).once("exit", () => resolve("exited"));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const over = AbortSignal.any([timeout, closeController.signal]);
  over.addEventListener("abort", () => (isDone === undefined ? resolve("late") : undefined), { once: true });
  isDone?.(over).then((done) => resolve(done ? "done" : "late"), reject);
  const { pid = 0 } = child;
  try {
    const end = await promise;
    const fail = (reason: "TimedOut" | "Failed", message: string) =>
      ({ ok: false, reason, message: `${file} ${message}${endGroup(child)}` }) as const;
    if (end === "late") return fail("TimedOut", explainTimeout(timeoutMs));
    if (end === "stopped") return fail("Failed", endedByStop);
    if (end instanceof Error) return fail("Failed", `can't be monitored (${end.message}) and was killed.`);
    if (end === "done") {
      detachedPrograms.add(pid);
      child.once("exit", () => detachedPrograms.delete(pid)).unref();
      return { ok: true, output: "", isLeft: true };
    }
    const programOutput = await output.read();
    return buildExitResult(file, child.exitCode, child.signalCode, programOutput.output, programOutput.errors);
  } finally {
    closeController.abort();
    signal.removeEventListener("abort", stop);
  }
}
