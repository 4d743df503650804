import { copyFile, open, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { loopDelays } from "../../support/run-sidecar.ts";
import { writeOwnedConfig } from "../../support/node/owned-node.ts";
import type { Fault, StruckNode } from "./fault.ts";
import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/** A manual change that requires a node restart. */
const edited = ({ node }: StruckNode) =>
  writeFile(node.configPath, writeOwnedConfig(node.workspace, "node-7").replace('"18100"', '"18101"'));

/** Failing or waiting restarts, upgrades, the clock, and adoption. */
export const restartFaults: readonly Fault[] = [
  {
    what: "The binary that starts the node is being written and can't be run; the sidecar rolls back and pauses",
    settings: () => ({
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
      GATEHOUSE_SIDECAR_RESTART_SETTLE_MS: "50",
      GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "500",
      GATEHOUSE_SIDECAR_OPS_START: '["./start-it"]',
    }),
    prepare: ({ node }) => copyFile("/bin/true", join(dirname(node.programs.ops), "start-it")),
    strike: async (struck) => {
      struck.resources.use(await open(join(dirname(struck.node.programs.ops), "start-it"), "r+"));
      await edited(struck);
    },
    shown: {
      verdict: "paused",
      condition: ["NotPaused", "Paused"],
      readyz: 503,
      reads:
        "The node did not recover after a restart: ./start-it can't be run (ETXTBSY): another process is writing it; `fuser -v …` shows which.",
    },
  },
  {
    what: "The machine's clock jumps an hour forward",
    strike: ({ resources }) => {
      const now = Date.now;
      Date.now = () => now() + 3_600_000;
      resources.defer(() => {
        Date.now = now;
      });
      return Promise.resolve();
    },
    shown: {
      verdict: "healthy",
      condition: ["Reconciling", "Reconciling"],
      readyz: 200,
      reads: "The last reconcile completed at …Z.",
    },
  },
  {
    what: "node.conf was edited, but no driver may restart the node",
    strike: edited,
    shown: {
      verdict: "degraded",
      condition: ["NoRestartPending", "NoDriver"],
      readyz: 200,
      reads: "A restart is pending (…); restart.driver is none, so restart it manually.",
    },
  },
];

/** Descriptors available to the process during a shortage, and how many of them are used by something else. */
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
    shown: {
      verdict: "degraded",
      condition: ["GatewayResponsive", "EventLoopDelayed"],
      readyz: 200,
      reads:
        "The gateway itself is slow: its event loop was delayed by up to … ms, … % of the last 10 s. Callers wait for the gateway, not for the node, so this time does not count against the node. Check the CPU of this process",
    },
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
    shown: {
      verdict: "degraded",
      condition: ["ConnectionsAvailable", "FileDescriptorsLow"],
      readyz: 200,
      reads:
        "… of 1024 file descriptors are open, … of at most … connections. If the callers are wanted, raise the limit of open files (ulimit -n",
    },
  },
];
