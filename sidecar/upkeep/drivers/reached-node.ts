import { stat } from "node:fs/promises";
import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import type { NodeCli } from "./node-cli.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

/** Directory that programs of the node are run in, and the deadlines for calls of their file systems. */
export type NodeReach = Readonly<{
  directory: () => string;
  fileDeadline: () => FileDeadline;
  /** Programs with an absolute path: they may be on another file system than that directory. */
  programs: readonly string[];
  programDeadline: () => FileDeadline;
}>;

/**
 * Queries the file system of the node's directory before each run of `node_cli`: the system call that begins a program returns only when the
 * program has been read, and on a file system that hangs it would hold up the whole process for ever.
 */
export function reachNodeCli(nodeCli: NodeCli, reach: NodeReach): NodeCli {
  const guarded =
    <Answer>(query: (signal: AbortSignal) => Promise<Answer>) =>
    async (signal: AbortSignal) => {
      const message = await whyOutOfReach(reach);
      return message === undefined ? query(signal) : { ok: false as const, reason: "TimedOut" as const, message };
    };
  return {
    pruneInfo: guarded(nodeCli.pruneInfo),
    enableAutoPrune: guarded(nodeCli.enableAutoPrune),
    version: guarded(nodeCli.version),
  };
}

/** Does the same for the commands of a driver. */
export function reachDriver(driver: NodeDriver, reach: NodeReach): NodeDriver {
  const reached = async <T>(act: () => Promise<T>) => {
    const message = await whyOutOfReach(reach);
    if (message !== undefined) throw new DriverError(message);
    return act();
  };
  const { stop, start, problem } = driver;
  return {
    ...driver,
    restart: (signal, stopping) => reached(() => driver.restart(signal, stopping)),
    ...(stop === undefined ? {} : { stop: (signal) => reached(() => stop(signal)) }),
    ...(start === undefined ? {} : { start: (signal) => reached(() => start(signal)) }),
    // ConfigValid reports that a file system hangs.
    ...(problem === undefined
      ? {}
      : {
          problem: async () => {
            if ((await whyHanging(reach.directory(), reach.fileDeadline())) !== undefined) return undefined;
            return (await whyProgramsHang(reach)) ?? problem();
          },
        }),
  };
}

async function whyOutOfReach(reach: NodeReach): Promise<string | undefined> {
  const why = (await whyHanging(reach.directory(), reach.fileDeadline())) ?? (await whyProgramsHang(reach));
  return why && `${why}.`;
}

async function whyProgramsHang({ programs, programDeadline }: NodeReach): Promise<string | undefined> {
  for (const path of programs) {
    const why = await whyHanging(path, programDeadline());
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Explains that the file system of a path hangs, without a full stop; undefined if it does not. The run itself reports a path that is missing. */
async function whyHanging(path: string, deadline: FileDeadline): Promise<string | undefined> {
  try {
    await deadline.call(`looking at ${path}`, () => stat(path).catch(() => undefined));
    return undefined;
  } catch (error) {
    if (error instanceof HangingFileSystem) return error.message;
    throw error;
  }
}
