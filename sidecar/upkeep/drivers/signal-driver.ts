import { readdir, readFile } from "node:fs/promises";
import { pause } from "../../poll.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

/** Which process is the node. */
export type SignalDriverOptions = Readonly<{
  /** As in `/proc/<pid>/comm`. */
  processName: string;
  timeoutMs: number;
}>;

const lookIntervalMs = 100;

/** Linux keeps no more of a process's name in `comm`. */
const nameLength = 15;

/**
 * Restarts a node in the same process namespace (`shareProcessNamespace`) with SIGTERM: its container ends, and Kubernetes
 * starts it again, waiting longer each time it does so soon. Waits for a new process of that name.
 */
export function signalDriver({ processName, timeoutMs }: SignalDriverOptions): NodeDriver {
  return {
    name: "kubernetes",
    restart: async (signal) => {
      const before = await processesNamed(processName);
      if (before.length === 0) {
        throw new DriverError(
          `no process named ${processName} is seen; set shareProcessNamespace on the pod, or kubernetes.processName.`,
        );
      }
      for (const pid of before) process.kill(pid, "SIGTERM");
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      while (!deadline.aborted) {
        const now = await processesNamed(processName);
        if (now.some((pid) => !before.includes(pid)) && !now.some((pid) => before.includes(pid))) return;
        await pause(lookIntervalMs, deadline);
      }
      throw new DriverError(
        `${processName} did not run again within ${timeoutMs} ms after SIGTERM; look at its container.`,
      );
    },
  };
}

async function processesNamed(name: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A process may end between the two reads; then it has no name any more.
      const comm = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
      return comm.trimEnd() === name.slice(0, nameLength) && pid !== process.pid ? [pid] : [];
    }),
  );
  return found.flat();
}
