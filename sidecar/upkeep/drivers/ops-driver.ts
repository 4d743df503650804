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

type LocateOps = () => ReturnType<typeof findOpsLocation> &
  Pick<NodeLayout, "binDirectory"> &
  Readonly<{
    passes: readonly string[];
  }>;

export type OpsDriverDependencies = OpsStopDependencies & Readonly<{ output: OutputFiles }>;

/** Restarts by `./ops stop --force`, then `./ops start --config ./node.conf` (specification), even if the stop fails: the node may be down. */
export function createOpsDriver(
  options: OpsDriverOptions,
  locateOps: LocateOps,
  dependencies: OpsDriverDependencies,
): NodeDriver {
  const { stop, start, checkForOthers } = createOpsCommands(options, locateOps, dependencies);
  let firstCheck: Promise<boolean> | undefined;
  return {
    name: "ops",
    problem: async () => {
      await (firstCheck ??= checkForOthers());
      return findMissingPrograms(options.stop, locateOps());
    },
    stop: async (signal) => {
      const { result, wasSeen } = await stop(signal);
      if (result?.ok === false && !wasSeen) throw new DriverError(result.message);
      return buildReport(wasSeen ? [] : [result]);
    },
    start: async (signal) => {
      const startResult = await start(signal);
      if (!startResult.ok) throw new DriverError(startResult.message);
      return buildReport([startResult]);
    },
    processes: dependencies.processes.inside,
    restart: async (signal) => {
      const { result: stopResult, wasSeen } = await stop(signal);
      const startResult = await start(signal);
      // Once the process was seen to exit, the stop command's output doesn't matter.
      if (startResult.ok) return buildReport(wasSeen ? [startResult] : [stopResult, startResult]);
      const { exitStatus: startStatus } = startResult;
      if (wasSeen || stopResult?.ok !== false) throw new StartFailedError(startResult.message, { startStatus });
      const earlierMessage = stopResult.message === startResult.message ? "" : ` (earlier: ${stopResult.message})`;
      throw new DriverError(`${startResult.message}${earlierMessage}`, { startStatus });
    },
  };
}

/** Creates the stop and start commands, each with its report, and the search for other nodes, which remembers those that it finds. */
function createOpsCommands(options: OpsDriverOptions, locateOps: LocateOps, dependencies: OpsDriverDependencies) {
  const { timeoutMs, stopTimeoutSeconds } = options;
  const { output, clock } = dependencies;
  const reportedMessages = new Set<string>();
  const reportOnce = (message: string) => {
    if (!reportedMessages.has(message)) reportRestart(message, dependencies);
    reportedMessages.add(message);
  };
  // `ops` kills every node on the machine. Any other command, such as systemctl stop, asks only the node that it manages to exit.
  const isOps = basename(options.stop[0] ?? "") === "ops";
  const graceMs = isOps ? Math.min(stopTimeoutSeconds * 1_000, timeoutMs) : 0;
  let lockedUntilMs = 0;
  let isAlone = true;
  const checkForOthers = async () => {
    // Another node that is being restarted is briefly invisible, but still exists.
    isAlone &&= !isOps || (await dependencies.processes.find()).elsewhere.length === 0;
    return isAlone;
  };
  const run = (name: string, command: readonly string[], signal: AbortSignal, isDone?: Done) => {
    const { directory, passes } = locateOps();
    const program = { name, command, directory, timeoutMs, passes, signal };
    return runLongRunningProcess(isDone === undefined ? program : { ...program, isDone }, output);
  };
  const stop = async (signal: AbortSignal) => {
    const commandText = quoteCommand(options.stop);
    const runStop = () => run("ops-stop", options.stop, signal);
    const command = { commandText, run: runStop, isAlone: checkForOthers, graceMs, kills: isOps };
    const stopResult = await stopWithOps(command, signal, dependencies);
    lockedUntilMs = stopResult.isForced ? clock.monotonicMs() + lockMs : 0;
    if (stopResult.result === undefined) {
      reportOnce(
        `Another node runs on this machine, and ${commandText} might stop it too: the node in ${locateOps().binDirectory} is stopped by its process ID.`,
      );
    }
    return stopResult;
  };
  const start = async (signal: AbortSignal) => {
    const runStart = (isDone: Done) => run("ops-start", locateOps().start, signal, isDone);
    const command = { run: runStart, lockedUntilMs };
    const startResult = await startWithOps(command, signal, dependencies);
    if (startResult.ok && startResult.isLeft === true) {
      reportOnce(
        `${quoteCommand(locateOps().start)} (ops.start) does not exit although the node is running; it was left running. Set ops.start to a command that starts the node in the background.`,
      );
    }
    return startResult;
  };
  return { stop, start, checkForOthers };
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
