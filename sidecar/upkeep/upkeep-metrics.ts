import { Counter, Gauge, type Registry } from "prom-client";
import { createSampleGauge } from "#status/charts.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import type { UpgradeRecord } from "./state/upgrade-record.ts";
import { controlVerbs, type CommandText } from "./command-text.ts";

type UpgradeEnd = NonNullable<UpgradeRecord["end"]>;

const upgradeEnds = ["committed", "rolled-back", "stranded"] as const satisfies readonly UpgradeEnd[];

export const restartCauses = [
  "configuration",
  "unhealthy",
  "interrupted",
  "unverified",
  "retried",
  "requested",
] as const;

export type UpkeepMetrics = ReturnType<typeof createUpkeepMetrics>;

export function createUpkeepMetrics(registry: Registry) {
  const registers = [registry];
  const gauge = (name: string, help: string) => createSampleGauge({ name: `gatehouse_node_${name}`, help, registry });
  const valid = gauge("config_valid", "1 if node.conf is readable and usable.");
  const used = gauge("restarts_in_last_hour", "Restarts counted against the budget.");
  const corrections = new Counter({
    name: "gatehouse_node_config_corrections_total",
    help: "Writes of node.conf by the sidecar.",
    registers,
  });
  const restarts = new Counter({
    name: "gatehouse_node_restarts_total",
    help: "Node restarts initiated by the sidecar.",
    labelNames: ["cause"],
    registers,
  });
  // A counter that first appears with its first event would not show that event as an increase.
  for (const cause of restartCauses) restarts.inc({ cause }, 0);
  const upgrades = new Counter({
    name: "gatehouse_node_upgrades_total",
    help: "Finished upgrades of the node: committed, rolled-back, or stranded between two versions.",
    labelNames: ["end"],
    registers,
  });
  for (const end of upgradeEnds) upgrades.inc({ end }, 0);
  const info = new Gauge({
    name: "gatehouse_command_info",
    help: "1 for each command that changes this sidecar, as typed on this host.",
    labelNames: ["verb", "command"],
    registers,
  });
  const on = gauge("prune_enabled", "enable_auto_prune of PruneInfo.");
  const reservedWindow = gauge("prune_reserved_window_versions", "auto_prune_reserved_window of PruneInfo.");
  const reservedVersion = gauge("prune_reserved_version", "prune_reserved_version of PruneInfo.");
  const flushedVersion = gauge("prune_flushed_version", "flushed_version of PruneInfo.");
  const real = gauge("prune_real_reserved_version", "real_prune_reserved_version of PruneInfo.");
  return {
    configValid: (isValid: boolean) => valid.set(isValid ? 1 : 0),
    corrected: () => corrections.inc(),
    restarted: (cause: (typeof restartCauses)[number]) => restarts.inc({ cause }),
    upgraded: (end: UpgradeEnd) => upgrades.inc({ end }),
    restartsInLastHour: (count: number) => used.set(count),
    /** Publishes the commands that control this sidecar, so that an alert can show them. */
    commands: (command: CommandText) => {
      for (const verb of controlVerbs) info.set({ verb, command: command(verb) }, 1);
    },
    pruneInfo: (pruned: PruneInfo | undefined) => {
      on.set(pruned && Number(pruned.autoPrune));
      reservedWindow.set(toNumber(pruned?.reservedWindow));
      reservedVersion.set(toNumber(pruned?.pruneReservedVersion));
      flushedVersion.set(toNumber(pruned?.flushedVersion));
      real.set(toNumber(pruned?.realPruneReservedVersion));
    },
  };
}

function toNumber(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

export type IterationMetrics = ReturnType<typeof createIterationMetrics>;

/** `…last_success_timestamp_seconds` starts at 0, as Prometheus advises for batch jobs: a reconcile that never completes must alert too. */
export function createIterationMetrics(registry: Registry) {
  const registers = [registry];
  const passes = new Counter({ name: "gatehouse_reconciles_total", help: "Completed reconciles.", registers });
  const failures = new Counter({
    name: "gatehouse_reconcile_failures_total",
    help: "Reconciles that failed or took longer than 30 seconds.",
    registers,
  });
  const lastSuccess = new Gauge({
    name: "gatehouse_reconcile_last_success_timestamp_seconds",
    help: "Time of the last complete reconcile (seconds since 1970); 0 before the first.",
    registers,
  });
  return {
    made: (wallMs: number) => {
      passes.inc();
      lastSuccess.set(wallMs / 1_000);
    },
    failed: () => failures.inc(),
  };
}
