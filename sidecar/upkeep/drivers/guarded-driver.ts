import { explainHanging, skipHanging, type FileDeadline } from "#daemon/files/file-deadline.ts";
import type { NodeCli } from "./node-cli.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

/** Paths from which programs are started, the node's bin directory first, each with the deadline of its file system. */
type ReachedPaths = () => readonly (readonly [path: string, deadline: FileDeadline])[];

/**
 * The system call that starts a program returns only once the program's file is read. On a hung file system it would block this process, so
 * the file system is checked first.
 */
export function guardNodeCli(nodeCli: NodeCli, paths: ReachedPaths): NodeCli {
  const guard =
    <Answer>(query: (signal: AbortSignal) => Promise<Answer>) =>
    async (signal: AbortSignal) => {
      const why = await explainOutOfReach(paths());
      return why === undefined
        ? query(signal)
        : { ok: false as const, reason: "TimedOut" as const, message: `${why}.` };
    };
  return {
    pruneInfo: guard(nodeCli.pruneInfo),
    enableAutoPrune: guard(nodeCli.enableAutoPrune),
    enableCommand: nodeCli.enableCommand,
    version: guard(nodeCli.version),
  };
}

/** `problemDeadline`: for the driver's own checks, in case the file system starts to hang meanwhile. */
export function guardDriver(driver: NodeDriver, paths: ReachedPaths, problemDeadline: () => FileDeadline): NodeDriver {
  const runReached = async <T>(run: () => Promise<T>) => {
    const why = await explainOutOfReach(paths());
    if (why !== undefined) throw new DriverError(`${why}.`);
    return run();
  };
  const { stop, start, problem } = driver;
  return {
    ...driver,
    restart: (signal, stopping) => runReached(() => driver.restart(signal, stopping)),
    ...(stop === undefined ? {} : { stop: (signal) => runReached(() => stop(signal)) }),
    ...(start === undefined ? {} : { start: (signal) => runReached(() => start(signal)) }),
    // ConfigReconciled reports a hung file system.
    ...(problem === undefined
      ? {}
      : {
          problem: async () => {
            const [directory, ...programs] = paths();
            if (directory === undefined || (await explainHanging(...directory)) !== undefined) return undefined;
            const why = await explainOutOfReach(programs);
            return why ?? problemDeadline().call("checking the driver", problem).catch(skipHanging);
          },
        }),
  };
}

async function explainOutOfReach(paths: ReturnType<ReachedPaths>): Promise<string | undefined> {
  for (const [path, deadline] of paths) {
    const why = await explainHanging(path, deadline);
    if (why !== undefined) return why;
  }
  return undefined;
}
