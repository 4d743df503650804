import { access, constants } from "node:fs/promises";
import { basename, isAbsolute, resolve } from "node:path";
import type { ProcessResult } from "#daemon/process/bounded-process.ts";
import { runLongRunningProcess } from "../../programs/long-running-process.ts";
import type { OutputFiles } from "../../programs/output-files.ts";
import type { NodeLayout } from "#node/layout.ts";
import { DriverError, StartFailedError, type NodeDriver, type RestartReport } from "./driver.ts";
import { lockMs, startWithOps, reportRestart, stopWithOps, type OpsStopDependencies } from "./ops-commands.ts";
import type { findOpsLocation } from "./ops-location.ts";

type OpsDriverOptions = Readonly<{
  stop: readonly string[];
  stopTimeoutSeconds: number;
  timeoutMs: number;
}>;

type Place = () => ReturnType<typeof findOpsLocation> &
  Pick<NodeLayout, "binDirectory"> &
  Readonly<{
    passes: readonly string[];
  }>;

export type OpsDriverDependencies = OpsStopDependencies & Readonly<{ output: OutputFiles }>;

/** Restarts by `./ops stop --force`, then `./ops start --config ./node.conf` (specification), even if the stop fails: the node may be down. */
export function createOpsDriver(
  options: OpsDriverOptions,
  place: Place,
  dependencies: OpsDriverDependencies,
): NodeDriver {
  const { stop, start, lookForOthers } = createOpsCommands(options, place, dependencies);
  let firstLook: Promise<boolean> | undefined;
  return {
    name: "ops",
    problem: async () => {
      await (firstLook ??= lookForOthers());
      return findMissingPrograms(options.stop, place());
    },
    stop: async (signal) => {
      const { result, wasSeen } = await stop(signal);
      if (result?.ok === false && !wasSeen) throw new DriverError(result.message);
      return buildReport(wasSeen ? [] : [result]);
    },
    start: async (signal) => {
      const started = await start(signal);
      if (!started.ok) throw new DriverError(started.message);
      return buildReport([started]);
    },
    processes: dependencies.processes.inside,
    restart: async (signal) => {
      const { result: stopped, wasSeen } = await stop(signal);
      const started = await start(signal);
      // Once the process was seen to exit, the stop command's output doesn't matter.
      if (started.ok) return buildReport(wasSeen ? [started] : [stopped, started]);
      const { exitStatus: startStatus } = started;
      if (wasSeen || stopped?.ok !== false) throw new StartFailedError(started.message, { startStatus });
      const before = stopped.message === started.message ? "" : ` (earlier: ${stopped.message})`;
      throw new DriverError(`${started.message}${before}`, { startStatus });
    },
  };
}

/** Creates the stop and start commands, each with its report, and the search for other nodes, which remembers those that it finds. */
function createOpsCommands(options: OpsDriverOptions, place: Place, dependencies: OpsDriverDependencies) {
  const { timeoutMs, stopTimeoutSeconds } = options;
  const { output, clock } = dependencies;
  const reported = new Set<string>();
  const reportOnce = (message: string) => {
    if (!reported.has(message)) reportRestart(message, dependencies);
    reported.add(message);
  };
  // `ops` kills every node on the machine. Another command, such as systemctl stop, targets only its own node and asks it to exit.
  const isOps = basename(options.stop[0] ?? "") === "ops";
  const graceMs = isOps ? Math.min(stopTimeoutSeconds * 1_000, timeoutMs) : 0;
  let lockedUntilMs = 0;
  let isAlone = true;
  const lookForOthers = async () => {
    // Another node that is being restarted is briefly invisible, but still exists.
    isAlone &&= !isOps || (await dependencies.processes.find()).elsewhere.length === 0;
    return isAlone;
  };
  const run = (name: string, command: readonly string[], signal: AbortSignal, isDone?: Done) => {
    const { directory, passes } = place();
    const program = { name, command, directory, timeoutMs, passes, signal };
    return runLongRunningProcess(isDone === undefined ? program : { ...program, isDone }, output);
  };
  const stop = async (signal: AbortSignal) => {
    const words = quoteCommand(options.stop);
    const runStop = () => run("ops-stop", options.stop, signal);
    const command = { words, run: runStop, isAlone: lookForOthers, graceMs, kills: isOps };
    const stopped = await stopWithOps(command, signal, dependencies);
    lockedUntilMs = stopped.isForced ? clock.monotonicMs() + lockMs : 0;
    if (stopped.result === undefined) {
      reportOnce(
        `Another node runs on this machine, and ${words} might stop it too: the node in ${place().binDirectory} is stopped by its process ID.`,
      );
    }
    return stopped;
  };
  const start = async (signal: AbortSignal) => {
    const runStart = (isDone: Done) => run("ops-start", place().start, signal, isDone);
    const command = { run: runStart, lockedUntilMs };
    const started = await startWithOps(command, signal, dependencies);
    if (started.ok && started.isLeft === true) {
      reportOnce(
        `${quoteCommand(place().start)} (ops.start) does not exit although the node is running; it was left running. Set ops.start to a command that starts the node in the background.`,
      );
    }
    return started;
  };
  return { stop, start, lookForOthers };
}

type Done = (signal: AbortSignal) => Promise<boolean>;

function quoteCommand(command: readonly string[]): string {
  return `\`${command.join(" ")}\``;
}

/**
 * Determines which programs can't be run, as text. Also undefined if their directory is missing: node.conf is then missing too, which is
 * reported.
 */
async function findMissingPrograms(
  stop: readonly string[],
  { directory, setting, start }: ReturnType<typeof findOpsLocation>,
): Promise<string | undefined> {
  if (!(await isAccessible(directory))) return undefined;
  const settings = new Map<string, string[]>();
  for (const [name, [file = ""]] of Object.entries({ "ops.stop": stop, "ops.start": start }))
    settings.set(file, [...(settings.get(file) ?? []), name]);
  const problems = await Promise.all(
    [...settings].map(async ([file, names]) => {
      const problem = await findProgramProblem(file, directory, isAbsolute(file) ? names.join(" and ") : setting);
      return problem === undefined ? [] : [`${file} (${names.join(", ")}) ${problem}`];
    }),
  );
  return problems.flat().join("; ") || undefined;
}

function buildReport(results: readonly (ProcessResult | undefined)[]): RestartReport {
  const said = results.flatMap((result) =>
    result?.ok === true && result.failureOutput !== undefined ? [result.failureOutput] : [],
  );
  return said.length === 0 ? {} : { failureOutput: said.join("; ") };
}

/** Why a program can't be run, as far as this can be checked: the system searches PATH for a name without a slash. */
async function findProgramProblem(file: string, directory: string, setting: string): Promise<string | undefined> {
  if (!file.includes("/")) return undefined;
  const path = resolve(directory, file);
  if (await isAccessible(path, constants.X_OK)) return undefined;
  if (await isAccessible(path)) return `can't be run by this user; run chmod +x ${path}`;
  const where = isAbsolute(file) ? "there" : `into ${directory}`;
  return `is missing; install it ${where}, or correct ${setting}`;
}

async function isAccessible(path: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
