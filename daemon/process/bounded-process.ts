import { truncateText } from "../secrets/mask.ts";
import { spawn, type ChildProcess, type ChildProcessByStdio, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { resolve as resolvePath } from "node:path";
import type { Readable } from "node:stream";
import { createTimeoutSignal } from "../time.ts";
import { selectVariables } from "./program-environment.ts";

/** A program to run: no shell, an argument array, a fixed environment, and limits on its time and output. */
export type ProcessOptions = Readonly<{
  command: readonly string[];
  directory: string;
  timeoutMs: number;
  outputLimitBytes: number;
  passes?: readonly string[] | undefined;
  signal: AbortSignal;
}>;

export type ProcessFailureReason = "NotFound" | "NotExecutable" | "TimedOut" | "TooMuchOutput" | "Failed";

/** Result of running a program. Status 0 doesn't guarantee success: `failureOutput` may explain why not. */
export type ProcessResult = Readonly<
  | {
      ok: true;
      output: string;
      failureOutput?: string;
      /** Whether the program did its work but has not exited, and was left running. */
      isLeft?: true;
    }
  | {
      ok: false;
      reason: ProcessFailureReason;
      message: string;
      /** Present if the program exited by itself. */
      exitStatus?: number;
      said?: string;
    }
>;

export function reportSuccess(output: string, errors: string): ProcessResult {
  const failureOutput = takeFirstLine(errors);
  return { ok: true, output, ...(failureOutput === "" ? {} : { failureOutput }) };
}

/** Returns the first non-empty line, cut to fit a message. */
export function takeFirstLine(text: string): string {
  return truncateText(text.trim().split("\n")[0] ?? "", lineLength);
}

const lineLength = 300;

/** Time that a program's pipes may stay open after its exit: a daemon that it started may have inherited them. */
const pipeGraceMs = 100;

/**
 * Runs a program. If the program exceeds a limit, kills its whole process group. If the program exits with 0, resolves to its standard
 * output and any error output; a failure includes a message, and the first line of standard error. For a program that may
 * leave a process behind, use `runLongRunningProcess`: the closed pipes would kill that process.
 */
export async function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  const child = await startProgram(options, ["ignore", "pipe", "pipe"]);
  return "ok" in child ? child : followToEnd(child as Child, options);
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Starts a program in its own process group; a failure includes a message. */
export async function startProgram(
  { command: [file = "", ...args], directory, passes }: Pick<ProcessOptions, "command" | "directory" | "passes">,
  stdio: StdioOptions,
): Promise<ChildProcess | Extract<ProcessResult, { ok: false }>> {
  try {
    const env = selectVariables(passes);
    return await startProcess(() => spawn(file, args, { cwd: directory, env, detached: true, stdio }));
  } catch (error) {
    return explainFailedStart(file, directory, error as NodeJS.ErrnoException);
  }
}

function followToEnd(child: Child, options: ProcessOptions): Promise<ProcessResult> {
  const [file = ""] = options.command;
  return new Promise((resolve) => {
    let output = "";
    let errors = "";
    let over = false;
    const finish = (result: ProcessResult) => {
      if (over) return;
      over = true;
      timeout.removeEventListener("abort", late);
      options.signal.removeEventListener("abort", stop);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(result);
    };
    const end = (reason: ProcessFailureReason, message: string) => {
      const left = endGroup(child);
      finish({ ok: false, reason, message: `${file} ${message}${left}` });
    };
    // Must come first: an unhandled `error` event exits this process.
    for (const emitter of [child, child.stdout, child.stderr]) {
      emitter.on("error", (error) => end("Failed", `can't be monitored (${describeCode(error)}) and was killed.`));
    }
    const stop = () => end("Failed", endedByStop);
    const late = () => end("TimedOut", explainTimeout(options.timeoutMs));
    const timeout = createTimeoutSignal(options.timeoutMs);
    timeout.addEventListener("abort", late, { once: true });
    if (options.signal.aborted) stop();
    options.signal.addEventListener("abort", stop, { once: true });
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (output.length <= options.outputLimitBytes) return;
      end(
        "TooMuchOutput",
        `printed more than the limit of ${options.outputLimitBytes} bytes and was killed; check that it is the right program.`,
      );
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      errors = (errors + chunk).slice(0, options.outputLimitBytes);
    });
    const onExit = (code: number | null, signal: string | null) =>
      finish(buildExitResult(file, code, signal, output, errors));
    child.once("close", onExit);
    child.once("exit", (code, signal) => setTimeout(() => onExit(code, signal), pipeGraceMs));
  });
}

export function buildExitResult(
  file: string,
  code: number | null,
  signal: string | null,
  output: string,
  errors: string,
): ProcessResult {
  if (code === 0) return reportSuccess(output, errors);
  const said = takeFirstLine(errors) || takeFirstLine(output);
  if (code === null) {
    const message = `${file} was killed by ${signal}${said === "" ? "" : ` (${said})`}.`;
    return { ok: false, reason: "Failed", message, said };
  }
  const message = `${file} exited with status ${code}${said === "" ? "." : `: ${said}`}`;
  return { ok: false, reason: "Failed", message, said, exitStatus: code };
}

export function explainTimeout(timeoutMs: number): string {
  return `did not finish within ${timeoutMs} ms and was killed; run it manually to see why.`;
}

/** Explains that a program was killed because this process is stopping. */
export const endedByStop = "was stopped because Gatehouse is stopping.";

/**
 * Kills the process group. If that fails, returns a message about the remaining process: this function runs in timers, where an error would
 * be uncaught.
 */
export function endGroup(child: ChildProcess): string {
  if (child.pid === undefined || child.exitCode !== null) return "";
  try {
    process.kill(-child.pid, "SIGKILL");
    return "";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The process exited at the same moment.
    if (code === "ESRCH") return "";
    return ` It could not be killed (${code ?? String(error)}); stop process ${child.pid} manually.`;
  }
}

/** Explains why a program could not be started: the cause, and what to do. */
async function explainFailedStart(
  file: string,
  directory: string,
  error: NodeJS.ErrnoException,
): Promise<Extract<ProcessResult, { ok: false }>> {
  const code = describeCode(error);
  const directoryState = await checkDirectory(directory);
  if (directoryState === "missing") {
    const message = `${file} can't be run: the directory ${directory} does not exist; set node.workspace, node.binDirectory or, before v0.11, node.nodeDirectory.`;
    return { ok: false, reason: "NotFound", message };
  }
  if (directoryState === "no directory") {
    const message = `${file} can't be run: ${directory} is not a directory (ENOTDIR); set node.workspace, node.binDirectory or, before v0.11, node.nodeDirectory.`;
    return { ok: false, reason: "Failed", message };
  }
  if (code === "ENOENT") {
    return {
      ok: false,
      reason: "NotFound",
      message: `${file.includes("/") ? resolvePath(directory, file) : file} does not exist; correct the program's path, or install it there.`,
    };
  }
  if (code === "EACCES" || code === "ENOEXEC") {
    return { ok: false, reason: "NotExecutable", message: `${file} can't be executed (${code}); run chmod +x on it.` };
  }
  const why = explainCode(code, file.includes("/") ? resolvePath(directory, file) : file);
  return { ok: false, reason: "Failed", message: `${file} can't be run${why ?? ` (${code}).`}` };
}

async function checkDirectory(directory: string): Promise<"there" | "missing" | "no directory" | "unknown"> {
  try {
    return (await stat(directory)).isDirectory() ? "there" : "no directory";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "missing" : "unknown";
  }
}

/** Explains an errno of exec or fork (execve(2), fork(2)), as the continuation of "… can't be run". */
function explainCode(code: string, path: string): string | undefined {
  const limit = "retrying. Raise the limit (ulimit -n, LimitNOFILE=, --ulimit nofile).";
  const words: Readonly<Record<string, string>> = {
    EMFILE: `: this process has no file descriptors left (EMFILE); ${limit}`,
    ENFILE: `: this machine has no file descriptors left (ENFILE); ${limit}`,
    ETXTBSY: ` (ETXTBSY): another process is writing it; \`fuser -v ${path}\` shows which.`,
    ELOOP: ` (ELOOP): it is a circular link; \`ls -l ${path}\` shows it. Replace it with the program.`,
    EAGAIN: " (EAGAIN): this user has reached its process limit; raise it (ulimit -u, TasksMax=).",
    ENOMEM: " (ENOMEM): this machine or container is out of memory; check `free -m`.",
    EIO: ` (EIO): its disk can't be read; \`dmesg\` and \`cat ${path} >/dev/null\` show why.`,
  };
  return words[code];
}

function describeCode(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}

/**
 * Starts a child and waits until it runs. Node throws some spawn errors synchronously (ETXTBSY, ELOOP, ENOTDIR, E2BIG, ENOMEM), and emits
 * others a tick later (ENOENT, EACCES, EAGAIN, EMFILE, ENFILE) as an `error` event, which exits the process if unhandled. If no descriptor
 * is left, the child has no pipes. This function rejects in all these cases, and returns no child.
 *
 * @throws {NodeJS.ErrnoException} if the child could not be started.
 */
export async function startProcess<Started extends ChildProcess>(begin: () => Started): Promise<Started> {
  const child = begin();
  await once(child, "spawn");
  return child;
}
