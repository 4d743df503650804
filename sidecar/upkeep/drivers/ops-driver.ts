import { access, constants } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { runProcess, type ProcessResult } from "#daemon/process/bounded-process.ts";
import type { NodeLayout } from "#node/layout.ts";
import { findProcessesIn } from "./host-processes.ts";
import { DriverError, StartFailed, type NodeDriver, type RestartReport } from "./driver.ts";
import type { OpsPlace } from "./ops-place.ts";

/** Command that stops the node of a binary deployment, and the time that a command may take. */
export type OpsDriverOptions = Readonly<{ stop: readonly string[]; timeoutMs: number }>;

/** Output of `ops` that is kept for a message. */
const outputLimitBytes = 1_048_576;

/**
 * Restarts a binary deployment: `./ops stop --force`, then `./ops start --config ./node.conf` (specification, "Node command
 * line"). It starts the node even if the stop fails: the node may have been down.
 */
export function createOpsDriver(
  options: OpsDriverOptions,
  place: () => OpsPlace & Pick<NodeLayout, "binDirectory">,
): NodeDriver {
  const run = async (command: readonly string[], signal: AbortSignal) => {
    const [file = "", ...args] = command;
    const { timeoutMs } = options;
    return runProcess({ command: [file, ...args], directory: place().directory, timeoutMs, outputLimitBytes, signal });
  };
  const runOrThrow = async (command: readonly string[], signal: AbortSignal) => {
    const result = await run(command, signal);
    if (!result.ok) throw new DriverError(result.message);
    return buildReport([result]);
  };
  return {
    name: "ops",
    problem: () => findMissingPrograms(options.stop, place()),
    stop: (signal) => runOrThrow(options.stop, signal),
    start: (signal) => runOrThrow(place().start, signal),
    processes: () => findProcessesIn(place().binDirectory),
    restart: async (signal) => {
      const stopped = await run(options.stop, signal);
      const started = await run(place().start, signal);
      if (started.ok) return buildReport([stopped, started]);
      const { exitStatus: startStatus } = started;
      if (stopped.ok) throw new StartFailed(started.message, { startStatus });
      const before = stopped.message === started.message ? "" : ` (before that: ${stopped.message})`;
      throw new DriverError(`${started.message}${before}`, { startStatus });
    },
  };
}

/** Finds which of the programs could not be run, in words; undefined, too, if their directory is missing: node.conf is gone then, and is reported. */
async function findMissingPrograms(
  stop: readonly string[],
  { directory, start }: OpsPlace,
): Promise<string | undefined> {
  if (!(await isThere(directory))) return undefined;
  const settings = new Map<string, string[]>();
  for (const [name, [file = ""]] of Object.entries({ "ops.stop": stop, "ops.start": start }))
    settings.set(file, [...(settings.get(file) ?? []), name]);
  const problems = await Promise.all(
    [...settings].map(async ([file, names]) => {
      const problem = await findProgramProblem(file, directory);
      return problem === undefined ? [] : [`${file} (${names.join(", ")}) ${problem}`];
    }),
  );
  return problems.flat().join("; ") || undefined;
}

function buildReport(results: readonly ProcessResult[]): RestartReport {
  const said = results.flatMap((result) => (result.ok && result.complaint !== undefined ? [result.complaint] : []));
  return said.length === 0 ? {} : { complaint: said.join("; ") };
}

/** Finds why a program can't be run in a directory; undefined if it can, as far as that is seen: the system looks up a name without a slash. */
async function findProgramProblem(file: string, directory: string): Promise<string | undefined> {
  if (!file.includes("/")) return undefined;
  const path = resolve(directory, file);
  if (await isThere(path, constants.X_OK)) return undefined;
  if (await isThere(path)) return `can't be run by this user; run chmod +x ${path}`;
  const where = isAbsolute(file) ? "there" : `into ${directory}`;
  return `is not there; put it ${where}, or name another program`;
}

/** Whether a file is there, and may be used in a mode. */
async function isThere(path: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
