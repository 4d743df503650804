import {
  conditionReasons,
  toolFailureReasons,
  stateStoreFailureReasons,
  unusableConfigReasons,
} from "./condition-reasons.ts";
import type { Condition, ConditionType } from "./condition.ts";

/** Other conditions that a cause turns False, for any reason or only for the listed ones. */
type Effects = Readonly<{ [Type in ConditionType]?: "any" | readonly Condition["reason"][] }>;

type Cause = Readonly<{ type: ConditionType; reasons?: readonly Condition["reason"][]; effects: Effects }>;

/** A usable node.conf that differs from the desired configuration. */
const differs = conditionReasons.ConfigReconciled.False.filter((reason) =>
  unusableConfigReasons.every((unusable) => unusable !== reason),
);

/** Effects of a node that does not respond. */
const ifSilent: Effects = {
  ChainIdMatches: "any",
  HeightAdvancing: "any",
  NodeSynced: "any",
  WebSocketResponding: "any",
  GatewayServing: "any",
  CallsSucceeding: "any",
  MetricsArriving: ["Missing", "Stale"],
  VersionConsistent: ["VersionUnknown"],
  ConfigReconciled: ["VersionUnknown", "Drift"],
  Pruning: ["EnableFailed", "Disabled", "PruningStalled", ...toolFailureReasons],
  RollbackReady: ["NoBackup"],
  NoRestartPending: "any",
};

/** Effects of a stalled chain, or of a node on another chain. */
const ifStalled: Effects = {
  NodeSynced: "any",
  GatewayServing: "any",
  CallsSucceeding: ["NotServing"],
  Pruning: ["PruningStalled"],
  NoRestartPending: "any",
};

/**
 * Causes and their effects, in causal order: each cause comes after anything that could cause it. Reasons distinguish cases that only look
 * alike: metrics stop arriving when the node stops, but an unreachable Pushgateway has a different cause.
 */
export const causes: readonly Cause[] = [
  {
    type: "UpgradeVerified",
    reasons: ["RollbackFailed", "Blocked", "Upgrading"],
    effects: {
      NotPaused: ["Paused"],
      RpcResponding: "any",
      VersionConsistent: "any",
      ConfigReconciled: differs,
      NoRestartPending: "any",
    },
  },
  { type: "UpgradeVerified", reasons: ["RolledBack"], effects: { NotPaused: ["Paused"] } },
  { type: "DataIntact", reasons: ["Suspect"], effects: { NotPaused: ["Paused"], RpcResponding: "any", ...ifSilent } },
  { type: "VersionSupported", reasons: ["Outdated"], effects: { HeightAdvancing: "any", ...ifStalled } },
  {
    type: "NotPaused",
    reasons: ["Paused"],
    effects: { RpcResponding: "any", HeightAdvancing: "any", NoRestartPending: "any", ConfigReconciled: differs },
  },
  {
    type: "DiskSpaceSufficient",
    effects: {
      Reconciling: ["DiskFull"],
      ConfigReconciled: ["WriteFailed", "BackupFailed"],
      RollbackReady: ["BackupFailed"],
    },
  },
  {
    type: "Reconciling",
    reasons: stateStoreFailureReasons,
    effects: {
      NoRestartPending: ["StateNotWritable"],
      RollbackReady: ["BackupFailed"],
      ConfigReconciled: ["BackupFailed"],
    },
  },
  {
    type: "ConfigReconciled",
    reasons: unusableConfigReasons,
    effects: {
      Reconciling: ["Failing", "Stuck"],
      DiskSpaceSufficient: ["ReadFailed"],
      Pruning: toolFailureReasons,
      NoRestartPending: ["ConfigUnusable"],
      MetricsArriving: ["IdentityUnknown"],
      VersionConsistent: ["VersionUnknown"],
    },
  },
  {
    type: "NoRestartPending",
    reasons: ["Running", "Settling"],
    effects: { ...ifSilent, RpcResponding: "any", ConfigReconciled: differs, Reconciling: ["NotReconciledYet"] },
  },
  { type: "NoRestartPending", reasons: ["NodeStopped"], effects: { ...ifSilent, RpcResponding: "any" } },
  { type: "RpcResponding", effects: ifSilent },
  { type: "GatewayResponsive", effects: { CallsSucceeding: ["Overloaded"] } },
  { type: "ChainIdMatches", effects: { HeightAdvancing: "any", ...ifStalled } },
  { type: "HeightAdvancing", effects: ifStalled },
  { type: "NodeSynced", effects: { GatewayServing: "any", NoRestartPending: "any" } },
  {
    type: "NotPaused",
    reasons: ["WaitingForApproval"],
    effects: {
      NoRestartPending: ["WaitingForApproval"],
      ConfigReconciled: ["Drift"],
      Pruning: ["Disabled"],
      MetricsArriving: ["Missing"],
    },
  },
  {
    type: "VersionConsistent",
    effects: { ConfigReconciled: ["VersionUnknown"], MetricsArriving: ["IdentityUnknown"] },
  },
  { type: "Pruning", reasons: toolFailureReasons, effects: { VersionConsistent: ["VersionUnknown"] } },
  {
    type: "ConfigReconciled",
    effects: { MetricsArriving: ["Missing", "Stale", "JobShared"], NoRestartPending: "any" },
  },
];

/** Returns whether a cause, in its current state, can have made another condition False. */
export function explains(cause: Condition, effect: Condition): boolean {
  return causes.some(({ type, reasons, effects }) => {
    if (type !== cause.type || (reasons !== undefined && !reasons.includes(cause.reason))) return false;
    const expected = effects[effect.type];
    return expected === "any" || expected?.includes(effect.reason) === true;
  });
}

/** Returns a condition's rank in the order of causes; a condition without effects comes last. */
export function rankCondition({ type, reason }: Condition): number {
  const rank = causes.findIndex((cause) => cause.type === type && cause.reasons?.includes(reason) !== false);
  return rank === -1 ? causes.length : rank;
}
