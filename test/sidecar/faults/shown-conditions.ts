import type { VerdictLevel } from "#status/verdict.ts";
import type { ConditionType, ReasonOf } from "#status/condition.ts";

/** A condition, and the verdict on a node on which only this condition is not True. */
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
  ...buildRows("ChainIdMatches", [["WrongChain", "down", 503]]),
  ...buildRows("GatewayResponsive", [["EventLoopDelayed", "degraded"]]),
  ...buildRows("RpcResponding", [
    ["ConnectionRefused", "down", 503],
    ["TimedOut", "down", 503],
    ["ConnectionClosed", "down", 503],
    ["NotJsonRpc", "down", 503],
    ["RpcError", "down", 503],
    ["Unreachable", "down", 503],
    ["ResponseTooLarge", "down", 503],
    ["NameNotResolved", "down", 503],
  ]),
  ...buildRows("HeightAdvancing", [
    ["Quiet", "unknown"],
    ["Stalled", "down", 503],
    ["WentBackwards", "down", 503],
    ["NoNewBlock", "degraded"],
    ["NoResponse", "unknown"],
  ]),
  ...buildRows("NodeSynced", [
    ["Behind", "degraded"],
    ["NoReference", "unknown"],
    ["NoHeight", "unknown"],
  ]),
  ...buildRows("WebSocketResponding", [
    ["ConnectionRefused", "degraded"],
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
    ["UpstreamFailing", "degraded"],
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
    ["FileMissing", "degraded"],
    ["Unreadable", "degraded"],
    ["Empty", "degraded"],
    ["Truncated", "degraded"],
    ["NotText", "degraded"],
    ["TooDeep", "degraded"],
    ["NotAnObject", "degraded"],
    ["NoChain", "degraded"],
    ["TooLarge", "degraded"],
    ["NotAFile", "degraded"],
    ["Drift", "degraded"],
    ["Locked", "degraded"],
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
  ...buildRows("VersionConsistent", [
    ["VersionUnknown", "degraded"],
    ["Mismatch", "degraded"],
  ]),
  ...buildRows("VersionSupported", [
    ["OutdatedSoon", "degraded"],
    ["Outdated", "degraded"],
    ["NotCompared", "unknown"],
  ]),
  ...buildRows("Pruning", [
    ["NotFound", "degraded"],
    ["NotExecutable", "degraded"],
    ["Failed", "degraded"],
    ["TimedOut", "degraded"],
    ["UnexpectedOutput", "degraded"],
    ["TooMuchOutput", "degraded"],
    ["EnableFailed", "degraded"],
    ["Disabled", "degraded"],
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
    ["Low", "degraded"],
    ["ReadFailed", "unknown"],
    ["FullSoon", "degraded"],
    ["AtMaxSize", "degraded"],
    ["ResizeFailed", "degraded"],
  ]),
  ...buildRows("ConnectionsAvailable", [
    ["FileDescriptorsLow", "degraded"],
    ["ConnectionsFull", "degraded"],
    ["NotCounted", "healthy"],
  ]),
  ...buildRows("FilesLoaded", [["Rejected", "degraded"]]),
];

const restarts: readonly DisplayedCondition[] = [
  ...buildRows("NotPaused", [
    ["Paused", "paused"],
    ["WaitingForApproval", "waiting"],
  ]),
  ...buildRows("NoRestartPending", [
    ["NoDriver", "degraded"],
    ["Running", "working"],
    ["Settling", "working"],
    ["StateNotWritable", "degraded"],
    ["ProgramMissing", "degraded"],
    ["NodeStopped", "degraded"],
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

/** Checks that end with an unexpected error, after which their earlier result no longer counts. */
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

/** Every reason for a False or Unknown condition. */
export const shownConditions: readonly DisplayedCondition[] = [
  ...node,
  ...files,
  ...upkeep,
  ...restarts,
  ...failedChecks.flatMap((type) => buildRows(type, [["CheckFailed", "unknown"]])),
];
