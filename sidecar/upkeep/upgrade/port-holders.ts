import { listenersIn } from "../drivers/listening-process.ts";
import { startTicks } from "../drivers/process-start.ts";
import type { ProcessMark } from "../state/upgrade-record.ts";

/** The processes that hold the node's port, as far as the sidecar sees them. */
export type PortHolders = Readonly<{
  now: () => Promise<readonly ProcessMark[]>;
  runs: (mark: ProcessMark) => Promise<boolean>;
}>;

/** Looks for them by the node's URL among the processes of its bin directory. */
export function portHolders(httpUrl: string, binDirectory: () => string): PortHolders {
  const { port, protocol } = new URL(httpUrl);
  const defaultPort = protocol === "https:" ? 443 : 80;
  return {
    now: async () => {
      const pids = await listenersIn(port === "" ? defaultPort : Number(port), binDirectory());
      const marks = await Promise.all(pids.map(async (pid) => ({ pid, startTicks: await startTicks(pid) })));
      return marks.flatMap((mark) => (mark.startTicks === undefined ? [] : [{ ...mark, startTicks: mark.startTicks }]));
    },
    runs: async (mark) => (await startTicks(mark.pid)) === mark.startTicks,
  };
}
