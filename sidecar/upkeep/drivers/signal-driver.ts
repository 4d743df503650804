import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { systemClock } from "#daemon/clock.ts";
import { createTimeoutSignal, waitUntil } from "#daemon/time.ts";
import { DriverError, type NodeDriver } from "./driver.ts";
import { listPids, readProcessFile } from "#daemon/process/running-process.ts";
import { readProcessStart } from "./host-processes.ts";

export type SignalDriverOptions = Readonly<{
  processName: () => string;
  timeoutMs: number;
}>;

const pollIntervalMs = 100;

/** Max length of a process name in Linux's `comm`. */
const nameLength = 15;

/** Sends SIGTERM in a shared process namespace; Kubernetes restarts the container, with a longer delay after each quick exit. */
export function createSignalDriver({ processName: nameNow, timeoutMs }: SignalDriverOptions): NodeDriver {
  return {
    name: "kubernetes",
    restart: async (signal) => {
      const processName = nameNow();
      const pidsBefore = await findProcessesNamed(processName);
      if (pidsBefore.length === 0) {
        throw new DriverError(
          `no process named ${processName} is visible in another container; set shareProcessNamespace on the pod, or kubernetes.processName.`,
        );
      }
      for (const pid of pidsBefore) sendSigterm(pid, processName);
      const deadline = AbortSignal.any([signal, createTimeoutSignal(timeoutMs)]);
      const isReplaced = (now: readonly number[]) => now.length > 0 && !now.some((pid) => pidsBefore.includes(pid));
      const check = () => findProcessesNamed(processName);
      if (isReplaced(await waitUntil(check, isReplaced, { everyMs: pollIntervalMs, signal: deadline }))) return {};
      throw new DriverError(
        `${processName} was not running again within ${timeoutMs} ms of SIGTERM; check its container.`,
      );
    },
    startedAt: async () => {
      const processName = nameNow();
      const otherProcesses = await findOtherProcesses();
      const named = otherProcesses.filter((process) => isNamed(process, processName));
      if (named.length > 0) return Math.min(...(await Promise.all(named.map(readStartTimeOrNow))));
      // If no container in a shared namespace is running, only the process that holds the namespace open remains.
      return otherProcesses.length === 1 && otherProcesses[0]?.pid === namespaceHolder ? "not-running" : "unknown";
    },
  };
}

async function readStartTimeOrNow({ pid }: ObservedProcess): Promise<number> {
  return (await readProcessStart(pid, systemClock))?.wallMs ?? systemClock.wallMs();
}

function sendSigterm(pid: number, name: string): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    // The process exited on its own between the check and the signal.
    if (code === "ESRCH") return;
    const remedy = "run the sidecar as the node's user, or grant it CAP_KILL";
    throw new DriverError(`process ${pid} (${name}) can't be signalled (${code}); ${remedy}.`, { cause });
  }
}

type ObservedProcess = Readonly<{ pid: number; comm: string; commandLine: string }>;

/** First process in a shared process namespace, which only keeps the namespace open for the pod's containers. */
const namespaceHolder = 1;

async function findProcessesNamed(name: string): Promise<readonly number[]> {
  return (await findOtherProcesses()).filter((process) => isNamed(process, name)).map(({ pid }) => pid);
}

function isNamed({ comm, commandLine }: ObservedProcess, name: string): boolean {
  const program = basename(commandLine.split("\0")[0] ?? "");
  return program === name || comm.trimEnd() === name.slice(0, nameLength);
}

/** Finds the processes in other containers: a process in the sidecar's own container is never the node. */
async function findOtherProcesses(): Promise<readonly ObservedProcess[]> {
  const own = await readFile("/proc/self/cgroup", "utf8");
  const found = await Promise.all(
    (await listPids()).map(async (pid) => {
      const [comm, commandLine, cgroup] = await Promise.all([
        readProcessFile(pid, "comm"),
        readProcessFile(pid, "cmdline"),
        readProcessFile(pid, "cgroup"),
      ]);
      // A zombie process has no command line.
      return commandLine === "" || cgroup === own ? [] : [{ pid, comm, commandLine }];
    }),
  );
  return found.flat();
}
