import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";

/** A program to run: no shell, an argument array, with limits on its time and output. */
export type ProcessOptions = Readonly<{
  command: readonly [string, ...string[]];
  directory: string;
  timeoutMs: number;
  outputLimitBytes: number;
  signal: AbortSignal;
}>;

/** Why a program's run is of no use. */
export type ProcessFailureReason = "NotFound" | "NotExecutable" | "TimedOut" | "TooMuchOutput" | "Failed";

/** How the run of a program ended. Status 0 is no proof that it did its work: `complaint` may say why not. */
export type ProcessResult = Readonly<
  | { ok: true; output: string; /** First line of its standard error. */ complaint?: string }
  | {
      ok: false;
      reason: ProcessFailureReason;
      message: string;
      /** Where it ended by itself. */
      exitStatus?: number;
      /** First line of what it complained of. */
      said?: string;
    }
>;

/** The result of a program that ended with status 0. */
export function endedWell(output: string, errors: string): ProcessResult {
  const complaint = firstLine(errors);
  return { ok: true, output, ...(complaint === "" ? {} : { complaint }) };
}

/** The first line that says something, cut to what a message can hold. */
export function firstLine(text: string): string {
  return text.trim().split("\n")[0]?.slice(0, lineLength) ?? "";
}

const lineLength = 300;

/** Time that a program's pipes may stay open after its end: a daemon that it started may have inherited them. */
const pipeGraceMs = 100;

/**
 * Runs a program. At a limit, its whole process group is killed. Resolves with its standard output when it exits with 0, and what it
 * complained of all the same; what went wrong comes back as words, with the first line of its standard error.
 */
export async function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  const [file, ...args] = options.command;
  const child = spawn(file, args, { cwd: options.directory, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((resolve) => {
    let output = "";
    let errors = "";
    let over = false;
    const finish = (result: ProcessResult) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      options.signal.removeEventListener("abort", stop);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(result);
    };
    const end = (reason: ProcessFailureReason, message: string) => {
      killGroup(child);
      finish({ ok: false, reason, message: `${file} ${message}` });
    };
    const stop = () => end("Failed", "was ended because the sidecar stops.");
    const timer = setTimeout(() => {
      end("TimedOut", `did not finish within ${options.timeoutMs} ms and was ended; run it by hand to see why.`);
    }, options.timeoutMs);
    if (options.signal.aborted) stop();
    options.signal.addEventListener("abort", stop, { once: true });
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (output.length <= options.outputLimitBytes) return;
      end(
        "TooMuchOutput",
        `printed more than ${options.outputLimitBytes} bytes and was ended; is it the right program?`,
      );
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      errors = (errors + chunk).slice(0, options.outputLimitBytes);
    });
    child.once("error", (error) => finish(spawnFailure(file, options.directory, error)));
    const exited = (code: number | null, signal: string | null) =>
      finish(exitResult(file, code, signal, output, errors));
    child.once("close", exited);
    child.once("exit", (code, signal) => setTimeout(() => exited(code, signal), pipeGraceMs));
  });
}

function exitResult(
  file: string,
  code: number | null,
  signal: string | null,
  output: string,
  errors: string,
): ProcessResult {
  if (code === 0) return endedWell(output, errors);
  const how = code === null ? `was ended by ${signal}` : `exited with status ${code}`;
  const said = firstLine(errors) || firstLine(output);
  const message = `${file} ${how}${said === "" ? "." : `: ${said}`}`;
  return { ok: false, reason: "Failed", message, said, ...(code === null ? {} : { exitStatus: code }) };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // ESRCH: the group ended by itself in the same instant.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function spawnFailure(file: string, directory: string, error: NodeJS.ErrnoException): ProcessResult {
  if (!existsSync(directory)) {
    const message = `${file} can't be run: the directory ${directory} is not there; set node.workspace or node.binDirectory.`;
    return { ok: false, reason: "NotFound", message };
  }
  if (error.code === "ENOENT") {
    return { ok: false, reason: "NotFound", message: `${file} is not there; set the program's name or put it there.` };
  }
  if (error.code === "EACCES" || error.code === "ENOEXEC") {
    return {
      ok: false,
      reason: "NotExecutable",
      message: `${file} can't be executed (${error.code}); run chmod +x on it.`,
    };
  }
  return { ok: false, reason: "Failed", message: `${file} can't be run (${error.code ?? error.message}).` };
}
