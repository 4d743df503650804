import { stat } from "node:fs/promises";
import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import type { NodeCli } from "./node-cli.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

/** Where programs of the node are run, and the deadline for calls of its file system. */
export type NodeReach = Readonly<{ directory: () => string; fileDeadline: () => FileDeadline }>;

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

/** The same for the commands of a driver. */
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
      : { problem: async () => ((await whyOutOfReach(reach)) === undefined ? problem() : undefined) }),
  };
}

async function whyOutOfReach({ directory, fileDeadline }: NodeReach): Promise<string | undefined> {
  const path = directory();
  try {
    // What is not there is reported by the run itself.
    await fileDeadline().call(`looking at ${path}`, () => stat(path).catch(() => undefined));
    return undefined;
  } catch (error) {
    if (error instanceof HangingFileSystem) return `${error.message}.`;
    throw error;
  }
}
