import { listProgramFiles, readProgramFile } from "#daemon/files/program-files.ts";
import type { Condition, ConditionType } from "#status/condition.ts";

/** Page of `docs/runbooks/` for each condition; {@link byReason} has the exceptions. */
const byCondition: Readonly<Record<ConditionType, string>> = {
  RpcAnswering: "node-down",
  ChainIdExpected: "not-right",
  HeightAdvancing: "head-stale",
  HeightCurrent: "node-behind",
  WebSocketAnswering: "gateway-link-lost",
  GatewayResponsive: "gateway-latency-fast",
  GatewayServing: "gateway-link-lost",
  CallsAnswered: "gateway-errors-fast",
  StateKept: "not-looked-after",
  ConfigValid: "not-right",
  UpkeepCurrent: "not-looked-after",
  ConfigCurrent: "not-right",
  SoleWriter: "config-contested",
  VersionAgreed: "not-right",
  VersionSufficient: "version-too-old",
  NodeCliWorking: "pruning-off",
  AutoPruneOn: "pruning-off",
  PruneAdvancing: "pruning-stalled",
  MetricsArriving: "metrics-not-arriving",
  DiskSpaceLeft: "disk-space-low",
  FileDescriptorsLeft: "limiter-saturated",
  FilesInForce: "file-refused",
  VolumeLargeEnough: "volume-at-ceiling",
  RestartSettled: "not-right",
  RollBackReady: "not-right",
  UpgradeProved: "upgrade-failed",
  DataSound: "data-corrupt",
  Unheld: "config-held",
  Adopted: "not-right",
};

const byReason: Readonly<Record<string, string>> = {
  "CallsAnswered Shed": "overload-shed",
  "VersionSufficient TooOldSoon": "version-too-old-soon",
  "DiskSpaceLeft FullSoon": "disk-full-soon",
  "MetricsArriving JobShared": "job-name-shared",
  "RestartSettled BudgetExhausted": "restart-budget-used-up",
};

/** Finds the runbook of a condition, by the name of its page. */
export function findRunbook({ type, reason }: Pick<Condition, "type" | "reason">): string {
  return `${byReason[`${type} ${reason}`] ?? byCondition[type]}.md`;
}

/** Reads the runbooks, by their file names. They come with the package, the image and the executable; a copy without them has none. */
export function readRunbooks(): ReadonlyMap<string, string> {
  const names = listProgramFiles("docs/runbooks").filter((name) => name.endsWith(".md"));
  return new Map(names.map((name) => [name, readProgramFile("docs/runbooks", name)]));
}
