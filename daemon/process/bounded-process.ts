import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { createRunningTimeout } from "../time.ts";
import { once } from "node:events";

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
export function reportSuccess(output: string, errors: string): ProcessResult {
  const complaint = takeFirstLine(errors);
  return { ok: true, output, ...(complaint === "" ? {} : { complaint }) };
}

/** The first line that says something, cut to what a message can hold. */
export function takeFirstLine(text: string): string {
  return text.trim().split("\n")[0]?.slice(0, lineLength) ?? "";
}

const lineLength = 300;

/** Time that a program's pipes may stay open after its end: a daemon that it started may have inherited them. */
const pipeGraceMs = 100;

/**
 * Runs a program. At a limit, its whole process group is killed. Resolves with its standard output when it exits with 0, and what it
 * complained of all the same; a failure comes back with a message, and with the first line of its standard error.
 */
export async function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  const [file, ...args] = options.command;
  const child = spawn(file, args, { cwd: options.directory, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  try {
    await waitForSpawn(child);
  } catch (error) {
    return spawnFailure(file, options.directory, error as NodeJS.ErrnoException);
  }
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
      const left = killGroup(child);
      finish({ ok: false, reason, message: `${file} ${message}${left}` });
    };
    const stop = () => end("Failed", "was ended because the sidecar stops.");
    const late = () =>
      end("TimedOut", `did not finish within ${options.timeoutMs} ms and was ended; run it by hand to see why.`);
    const timeout = createRunningTimeout(options.timeoutMs);
    timeout.addEventListener("abort", late, { once: true });
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
  if (code === 0) return reportSuccess(output, errors);
  const said = takeFirstLine(errors) || takeFirstLine(output);
  if (code === null) {
    const message = `${file} was ended by ${signal}${said === "" ? "" : ` (${said})`}.`;
    return { ok: false, reason: "Failed", message, said };
  }
  const message = `${file} exited with status ${code}${said === "" ? "." : `: ${said}`}`;
  return { ok: false, reason: "Failed", message, said, exitStatus: code };
}

/** Says what is left of the group, where it can't be killed: this runs in timers, where nothing would catch an error. */
function killGroup(child: ChildProcess): string {
  if (child.pid === undefined || child.exitCode !== null) return "";
  try {
    process.kill(-child.pid, "SIGKILL");
    return "";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // It ended by itself in the same instant.
    if (code === "ESRCH") return "";
    return ` It could not be killed (${code ?? String(error)}); end process ${child.pid} by hand.`;
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
  if (error.code === "EMFILE" || error.code === "ENFILE") {
    const whose = error.code === "EMFILE" ? "this process has" : "this machine has";
    const message = `${file} can't be run: ${whose} no file descriptor left (${error.code}); it is tried again. Raise the limit (ulimit -n, LimitNOFILE=, --ulimit nofile).`;
    return { ok: false, reason: "Failed", message };
  }
  return { ok: false, reason: "Failed", message: `${file} can't be run (${error.code ?? error.message}).` };
}

/**
 * Waits until a child runs. To be called at once after `spawn`, before anything of the child is touched: Node says why a program could
 * not be started a tick later, in an `error` event that ends a process which does not listen, and a child that no descriptor was left
 * for (EMFILE) has no pipes.
 *
 * @throws {NodeJS.ErrnoException} why it could not be started, e.g. ENOENT, EACCES or EMFILE.
 */
export async function waitForSpawn(child: ChildProcess): Promise<void> {
  await once(child, "spawn");
}
