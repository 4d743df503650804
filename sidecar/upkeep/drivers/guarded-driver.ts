import { explainHanging, skipHanging, type FileDeadline } from "#daemon/files/file-deadline.ts";
import type { NodeCli } from "./node-cli.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

export type ReachabilityOptions = Readonly<{
  directory: () => string;
  fileDeadline: () => FileDeadline;
  /** Programs with an absolute path; these may be on a different file system than the working directory. */
  programs: readonly string[];
  programDeadline: () => FileDeadline;
  /** Deadline for the driver's own checks, in case the file system starts to hang meanwhile. */
  problemDeadline: () => FileDeadline;
}>;

/**
 * The system call that starts a program returns only once the program's file is read. On a hung file system it would block this process, so
 * the file system is checked first.
 */
export function guardNodeCli(nodeCli: NodeCli, reach: ReachabilityOptions): NodeCli {
  const guard =
    <Answer>(query: (signal: AbortSignal) => Promise<Answer>) =>
    async (signal: AbortSignal) => {
      const message = await explainOutOfReach(reach);
      return message === undefined ? query(signal) : { ok: false as const, reason: "TimedOut" as const, message };
    };
  return {
    pruneInfo: guard(nodeCli.pruneInfo),
    enableAutoPrune: guard(nodeCli.enableAutoPrune),
    enableCommand: nodeCli.enableCommand,
    version: guard(nodeCli.version),
  };
}

export function guardDriver(driver: NodeDriver, reach: ReachabilityOptions): NodeDriver {
  const runReached = async <T>(act: () => Promise<T>) => {
    const message = await explainOutOfReach(reach);
    if (message !== undefined) throw new DriverError(message);
    return act();
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
            if ((await explainHanging(reach.directory(), reach.fileDeadline())) !== undefined) return undefined;
            const findProblem = () => reach.problemDeadline().call("checking the driver", problem).catch(skipHanging);
            return (await explainHangingProgram(reach)) ?? findProblem();
          },
        }),
  };
}

async function explainOutOfReach(reach: ReachabilityOptions): Promise<string | undefined> {
  const why = (await explainHanging(reach.directory(), reach.fileDeadline())) ?? (await explainHangingProgram(reach));
  return why && `${why}.`;
}

async function explainHangingProgram({ programs, programDeadline }: ReachabilityOptions): Promise<string | undefined> {
  for (const path of programs) {
    const why = await explainHanging(path, programDeadline());
    if (why !== undefined) return why;
  }
  return undefined;
}
