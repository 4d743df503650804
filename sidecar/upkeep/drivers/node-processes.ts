import { readUrlPort } from "#daemon/http/address.ts";
import type { ProcessMark } from "../state/upgrade-record.ts";
import { findListeners, listProcesses, readCommandLine, readStartTicks } from "./host-processes.ts";

/** A node's processes on this machine that are visible to the sidecar. */
export type NodeProcesses = ReturnType<typeof createNodeProcesses>;

/** Address of the node's RPC, its bin directory, and its family's name for the program. */
export type NodeProcessesOptions = Readonly<{
  httpUrl: string;
  binDirectory: () => string;
  /**
   * Name in the command line that identifies the node's processes, as used by `ops`. If undefined, a process belongs to the node if it runs
   * the same program as the process that listens on the port, once such a process with a program in the bin directory has been seen.
   */
  processName: () => string | undefined;
}>;

/** Creates the process search, which uses the port in the node's URL and the node's program. */
export function createNodeProcesses({ httpUrl, binDirectory, processName }: NodeProcessesOptions) {
  const port = readUrlPort(new URL(httpUrl));
  let program: string | undefined;
  return {
    /** Finds the processes that listen on the node's port. */
    now: async () => mark(await findListeners(port, binDirectory())),
    /**
     * Finds the processes that listen on the node's port and other processes of its program in its directory. Also finds processes of the
     * same program elsewhere, which are other nodes.
     */
    find: async () => {
      const directory = binDirectory();
      const [holders, all] = await Promise.all([findListeners(port, directory), listProcesses(directory)]);
      program ??= all.find(({ pid, isProgramInside }) => isProgramInside && holders.includes(pid))?.program;
      const name = processName();
      const nodes = await Promise.all(
        all.map(async (process) => {
          const isNode =
            name === undefined ? process.program === program : (await readCommandLine(process.pid)).includes(name);
          return isNode ? [process] : [];
        }),
      );
      const inside = nodes.flat().flatMap(({ pid, isInside }) => (isInside ? [pid] : []));
      const elsewhere = nodes.flat().flatMap(({ pid, isInside }) => (isInside ? [] : [pid]));
      return { own: await mark([...new Set([...holders, ...inside])]), elsewhere: await mark(elsewhere) };
    },
    runs: async ({ pid, startTicks }: ProcessMark) => (await readStartTicks(pid)) === startTicks,
  };
}

async function mark(pids: readonly number[]): Promise<readonly ProcessMark[]> {
  const marks = pids.map(async (pid) => ({ pid, startTicks: await readStartTicks(pid) }));
  return (await Promise.all(marks)).flatMap(({ pid, startTicks }) =>
    startTicks === undefined ? [] : [{ pid, startTicks }],
  );
}
