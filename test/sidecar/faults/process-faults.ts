import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { loopDelays } from "../../support/run-sidecar.ts";
import type { Fault } from "./fault.ts";

/** Descriptors available to the process during a shortage, and the number already in use. */
const limit = 1_024;
const taken = 1_000;

/** Time for which the event loop is blocked. */
const busyMs = 1_500;

/** Sets this process's soft limit of open files, which the sidecar reads when it starts; the hard limit is unchanged. */
function limitDescriptors(soft: number): void {
  const args = ["--pid", String(process.pid), `--nofile=${soft}:`];
  if (spawnSync("prlimit", args).status !== 0) throw new Error(`prlimit ${args.join(" ")} failed`);
}

function readSoftLimit(): number {
  const { stdout } = spawnSync("prlimit", ["--pid", String(process.pid), "--nofile", "--noheadings", "--output=SOFT"]);
  return Number(String(stdout).trim());
}

/** Opens files until this many descriptors are in use in total. */
function takeDescriptors(): Disposable {
  const opened: number[] = [];
  while ((opened.at(-1) ?? 0) < taken) opened.push(openSync("/dev/null", "r"));
  return {
    [Symbol.dispose]: () => {
      for (const descriptor of opened.splice(0)) closeSync(descriptor);
    },
  };
}

/** Faults of the sidecar's own process. */
export const processFaults: readonly Fault[] = [
  {
    what: "The gateway is slow: its event loop stalls",
    settings: () => loopDelays(1_000, 1e9),
    strike: () => {
      const end = performance.now() + busyMs;
      while (performance.now() < end);
      return Promise.resolve();
    },
    condition: ["GatewayResponsive", "EventLoopDelayed"],
    reads:
      "The gateway itself is slow: its event loop was delayed by up to … ms, … % of the last 10 s. Callers wait for the gateway, not for the node, so this time does not count against the node. Check the CPU of this process",
  },
  {
    what: "The process is almost out of file descriptors",
    settings: ({ resources }) => {
      const before = readSoftLimit();
      limitDescriptors(limit);
      resources.defer(() => limitDescriptors(before));
      return {};
    },
    strike: ({ resources }) => {
      resources.use(takeDescriptors());
      return Promise.resolve();
    },
    condition: ["ConnectionsAvailable", "FileDescriptorsLow"],
    reads:
      "… of 1024 file descriptors are open, … of at most … connections. If the callers are wanted, raise the limit of open files (ulimit -n",
  },
];
