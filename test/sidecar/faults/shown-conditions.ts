import type { VerdictLevel } from "#status/verdict.ts";
import type { ConditionType, ReasonOf } from "#status/condition.ts";

/**
 * A condition that is not the main condition of any fault in the other tables, and the verdict on a node on which only this condition is
 * not True.
 */
export type DisplayedCondition = {
  [T in ConditionType]: Readonly<{
    condition: readonly [T, ReasonOf<T, "False"> | ReasonOf<T, "Unknown">];
    verdict: VerdictLevel;
    readyz: 200 | 503;
  }>;
}[ConditionType];

/** Builds the rows of one condition: the reason, the verdict, and `/readyz` if it is not 200. */
function buildRows<T extends ConditionType>(
  type: T,
  list: readonly (readonly [
    reason: ReasonOf<T, "False"> | ReasonOf<T, "Unknown">,
    verdict: VerdictLevel,
    readyz?: 503,
  ])[],
): readonly DisplayedCondition[] {
  return list.map(
    // The parameters tie each reason to its type, which the compiler can't check in the map.
    ([reason, verdict, readyz = 200]) => ({ condition: [type, reason], verdict, readyz }) as DisplayedCondition,
  );
}

const node: readonly DisplayedCondition[] = [
  ...buildRows("RpcResponding", [
    ["Unreachable", "down", 503],
    ["ResponseTooLarge", "down", 503],
    ["NameNotResolved", "down", 503],
  ]),
  ...buildRows("HeightAdvancing", [
    ["NoNewBlock", "degraded"],
    ["NoResponse", "unknown"],
  ]),
  ...buildRows("NodeSynced", [["NoHeight", "unknown"]]),
  ...buildRows("WebSocketResponding", [
    ["Unreachable", "degraded"],
    ["NameNotResolved", "degraded"],
    ["TimedOut", "degraded"],
    ["ConnectionClosed", "degraded"],
    ["NotJsonRpc", "degraded"],
  ]),
  ...buildRows("GatewayServing", [
    ["NoHead", "down", 503],
    ["WaitingForHead", "unknown", 503],
    ["NodeUnhealthy", "down", 503],
  ]),
  ...buildRows("CallsSucceeding", [
    ["Overloaded", "degraded"],
    ["TooFewCalls", "healthy"],
    ["NotServing", "healthy"],
  ]),
];

const files: readonly DisplayedCondition[] = [
  ...buildRows("Reconciling", [
    ["Failing", "unknown"],
    ["Stuck", "unknown"],
    ["ReadOnly", "degraded"],
    ["DiskFull", "degraded"],
    ["InUse", "degraded"],
    ["WriteFailed", "degraded"],
    ["Unresponsive", "degraded"],
    ["NotReconciledYet", "unknown"],
  ]),
  ...buildRows("ConfigReconciled", [
    ["StartRewrites", "degraded"],
    ["Contested", "degraded"],
    ["EditRejected", "degraded"],
    ["Unresponsive", "degraded"],
    ["WriteFailed", "degraded"],
    ["VersionUnknown", "degraded"],
    ["PushAddressUnknown", "degraded"],
    ["LockFailed", "degraded"],
    ["BackupFailed", "degraded"],
  ]),
];

const upkeep: readonly DisplayedCondition[] = [
  ...buildRows("VersionSupported", [
    ["OutdatedSoon", "degraded"],
    ["Outdated", "degraded"],
    ["NotCompared", "unknown"],
  ]),
  ...buildRows("Pruning", [
    ["CannotDisable", "degraded"],
    ["PruningStalled", "degraded"],
    ["NotRun", "healthy"],
  ]),
  ...buildRows("MetricsArriving", [
    ["PushgatewayUnreachable", "degraded"],
    ["Missing", "degraded"],
    ["Stale", "degraded"],
    ["PushesRejected", "degraded"],
    ["JobShared", "degraded"],
    ["NotPushing", "healthy"],
    ["IdentityUnknown", "unknown"],
  ]),
  ...buildRows("DiskSpaceSufficient", [
    ["FullSoon", "degraded"],
    ["AtMaxSize", "degraded"],
    ["ResizeFailed", "degraded"],
  ]),
  ...buildRows("ConnectionsAvailable", [
    ["ConnectionsFull", "degraded"],
    ["NotCounted", "healthy"],
  ]),
  ...buildRows("FilesLoaded", [["Rejected", "degraded"]]),
];

const restarts: readonly DisplayedCondition[] = [
  ...buildRows("NotPaused", [["WaitingForApproval", "waiting"]]),
  ...buildRows("NoRestartPending", [
    ["Running", "working"],
    ["Settling", "working"],
    ["StateNotWritable", "degraded"],
    ["ProgramMissing", "degraded"],
    ["BudgetExhausted", "degraded"],
    ["WaitingForWindow", "degraded"],
    ["Observing", "degraded"],
    ["Contested", "degraded"],
    ["StartRewrites", "degraded"],
    ["Paused", "degraded"],
    ["ConfigUnusable", "degraded"],
    ["EditRejected", "degraded"],
    ["EditNotChecked", "degraded"],
    ["WaitingForApproval", "degraded"],
  ]),
  ...buildRows("RollbackReady", [
    ["BackupFailed", "degraded"],
    ["NoBackup", "degraded"],
    ["Assumed", "healthy"],
    ["NotYet", "healthy"],
    ["NoRestarts", "healthy"],
  ]),
  ...buildRows("UpgradeVerified", [
    ["RolledBack", "degraded"],
    ["RollbackFailed", "degraded"],
    ["Blocked", "degraded"],
    ["Upgrading", "unknown"],
  ]),
  ...buildRows("DataIntact", [
    ["Suspect", "degraded"],
    ["Inconclusive", "unknown"],
    ["NeverHealthy", "healthy"],
  ]),
];

/** Checks that end with an unexpected error: their earlier result no longer counts. */
const failedChecks = [
  "RpcResponding",
  "ChainIdMatches",
  "HeightAdvancing",
  "NodeSynced",
  "WebSocketResponding",
  "GatewayServing",
  "CallsSucceeding",
  "FilesLoaded",
  "VersionSupported",
  "Pruning",
  "MetricsArriving",
  "DiskSpaceSufficient",
  "ConnectionsAvailable",
] as const;

/** Every reason for a False or Unknown condition has a row here, or a fault that is injected into a sidecar. */
export const shownConditions: readonly DisplayedCondition[] = [
  ...node,
  ...files,
  ...upkeep,
  ...restarts,
  ...failedChecks.flatMap((type) => buildRows(type, [["CheckFailed", "unknown"]])),
];
