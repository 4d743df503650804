import { copyFile, open, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeOwnedConfig } from "../../support/node/owned-node.ts";
import type { Fault, StruckNode } from "./fault.ts";

/** A manual change that requires a node restart. */
const edited = ({ node }: StruckNode) =>
  writeFile(node.configPath, writeOwnedConfig(node.workspace, "node-7").replace('"18100"', '"18101"'));

/** Failing or waiting restarts, upgrades, the clock, and adoption. */
export const restartFaults: readonly Fault[] = [
  {
    what: "The node does not come back after a restart; it is rolled back, and the sidecar holds",
    settings: () => ({
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
      GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "4000",
      GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "4000",
      GATEHOUSE_SIDECAR_RESTART_SETTLE_MS: "50",
    }),
    strike: ({ node }) =>
      node.save(writeOwnedConfig(node.workspace, "node-7").replace('"18100"', '"18100", "crash": 1')),
    shown: {
      verdict: "paused",
      condition: ["NotPaused", "Paused"],
      readyz: 200,
      reads: "The node did not recover after a restart: …node exited with 3",
    },
  },
  {
    what: "The program that starts the node is being written, so that the system does not run it; the sidecar rolls back, and holds",
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
    what: "The machine's clock jumps an hour ahead",
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
    what: "Half an upgrade: the node is of a version whose layout is not there",
    strike: async ({ node }) => {
      await node.install("0.10.0");
      await node.stop();
      await node.start();
    },
    shown: {
      verdict: "degraded",
      condition: ["VersionConsistent", "Mismatch"],
      readyz: 200,
      reads:
        "The node's version is 0.10.0 (…). But node 0.10.0 would run in …, which does not exist, but … does; set node.version",
    },
  },
  {
    what: "node.conf was edited, and no driver may restart the node",
    strike: edited,
    shown: {
      verdict: "degraded",
      condition: ["NoRestartPending", "NoDriver"],
      readyz: 200,
      reads: "A restart is pending (…); restart.driver is none, so restart it manually.",
    },
  },
  {
    what: "The program that stops and starts the node is not there",
    settings: () => ({ GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops" }),
    strike: ({ node }) => rm(node.programs.ops),
    shown: {
      verdict: "degraded",
      condition: ["NoRestartPending", "ProgramMissing"],
      readyz: 200,
      reads: "The node can't be restarted: ./ops (ops.stop, ops.start) is missing",
    },
  },
  {
    what: "node.conf was edited, and the restart budget is 0",
    settings: () => ({ GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops", GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "0" }),
    strike: edited,
    shown: {
      verdict: "degraded",
      condition: ["NoRestartPending", "BudgetExhausted"],
      readyz: 200,
      reads: "A restart is pending (…); restart.budgetPerHour allows none, so restart it manually.",
    },
  },
  {
    what: "node.conf was edited outside of the maintenance window",
    settings: () => ({
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
      GATEHOUSE_SIDECAR_RESTART_MAINTENANCE_CRON: "0 3 29 2 *",
      GATEHOUSE_SIDECAR_RESTART_MAINTENANCE_MS: "1000",
    }),
    strike: edited,
    shown: {
      verdict: "degraded",
      condition: ["NoRestartPending", "WaitingForWindow"],
      readyz: 200,
      reads: "A restart is pending (…); it waits for the maintenance window at …-02-29T03:00:00.000Z.",
    },
  },
  {
    what: "node.conf was edited, and the sidecar only observes",
    settings: () => ({ GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe", GATEHOUSE_SIDECAR_PRUNE_ENABLED: "false" }),
    strike: edited,
    shown: {
      verdict: "degraded",
      condition: ["NoRestartPending", "Observing"],
      readyz: 200,
      reads: "A restart is pending (…); upkeep.mode is observe, so restart it manually.",
    },
  },
  {
    what: "The sidecar meets the node for the first time",
    settings: () => ({ GATEHOUSE_SIDECAR_UPKEEP_MODE: "adopt" }),
    shown: {
      verdict: "waiting",
      condition: ["NotPaused", "WaitingForApproval"],
      readyz: 200,
      reads: "The sidecar has changed nothing yet and is waiting for your approval. Plan: ",
    },
  },
];
