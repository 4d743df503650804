import type { VerdictLevel } from "#status/verdict.ts";
import type { ConditionType, ReasonOf } from "#status/condition.ts";

/** A condition that no fault of the other tables brings about as its main one, and what a node is called of which this alone is not right. */
export type DisplayedCondition = {
  [T in ConditionType]: Readonly<{
    what: string;
    condition: readonly [T, ReasonOf<T, "False"> | ReasonOf<T, "Unknown">];
    verdict: VerdictLevel;
    readyz: 200 | 503;
  }>;
}[ConditionType];

/** Builds the rows of one condition: what has happened, the reason, the verdict, and `/readyz` if it is not 200. */
function buildRows<T extends ConditionType>(
  type: T,
  list: readonly (readonly [
    what: string,
    reason: ReasonOf<T, "False"> | ReasonOf<T, "Unknown">,
    verdict: VerdictLevel,
    readyz?: 503,
  ])[],
): readonly DisplayedCondition[] {
  return list.map(
    // The parameters tie each reason to its type, which the compiler loses over the map.
    ([what, reason, verdict, readyz = 200]) =>
      ({ what, condition: [type, reason], verdict, readyz }) as DisplayedCondition,
  );
}

const node: readonly DisplayedCondition[] = [
  ...buildRows("RpcResponding", [
    ["No route leads to the node's address, or its name does not exist", "Unreachable", "down", 503],
    ["The node's port answers more than any node does", "ResponseTooLarge", "down", 503],
    ["No name server answers for the name in node.httpUrl, which was never resolved", "NameNotResolved", "down", 503],
  ]),
  ...buildRows("HeightAdvancing", [
    ["Blocks came steadily and come no more, and no references are set", "NoNewBlock", "degraded"],
    ["The RPC is not responding, so that the height is not known (`RpcResponding` says why)", "NoResponse", "unknown"],
  ]),
  ...buildRows("NodeSynced", [
    ["The RPC is not responding, so that there is no height to compare", "NoHeight", "unknown"],
  ]),
  ...buildRows("WebSocketResponding", [
    ["No name server answers for the name in node.webSocketUrl", "NameNotResolved", "degraded"],
    ["The node's WebSocket opens and answers nothing", "TimedOut", "degraded"],
    ["The node's WebSocket closes without an answer", "ConnectionClosed", "degraded"],
    ["Another program answers at the node's WebSocket port", "NotJsonRpc", "degraded"],
  ]),
  ...buildRows("GatewayServing", [
    ["The node answers the sidecar, and the gateway learns no head", "NoHead", "down", 503],
    ["The gateway has just started, or has lost the node a moment ago", "WaitingForHead", "unknown", 503],
    ["The node is not fit for traffic (its own conditions say why)", "NodeUnhealthy", "down", 503],
  ]),
  ...buildRows("CallsSucceeding", [
    ["The gateway turns many calls away: there is no room for them", "Overloaded", "degraded"],
    ["Calls failed, and hardly anybody calls any more", "TooFewCalls", "healthy"],
    ["Calls failed, and the gateway does not serve now (`GatewayServing` says why)", "NotServing", "healthy"],
  ]),
];

const files: readonly DisplayedCondition[] = [
  ...buildRows("SoleWriter", [
    ["The node's own start overwrites node.conf at each restart", "StartRewrites", "degraded"],
  ]),
  ...buildRows("StateWritable", [
    ["The sidecar's state is on a file system that is mounted read-only", "ReadOnly", "degraded"],
    ["The sidecar's state can't be written for another reason", "WriteFailed", "degraded"],
    ["The file system of the sidecar's state hangs", "Unresponsive", "degraded"],
  ]),
  ...buildRows("Reconciling", [
    ["Each look at the node fails", "Failing", "unknown"],
    ["A look at the node does not end", "Stuck", "unknown"],
    ["The sidecar has just started", "NotReconciledYet", "unknown"],
  ]),
  ...buildRows("ConfigReconciled", [
    ["node.conf can't be judged without the node's version", "VersionUnknown", "degraded"],
    ["Nothing says where the node is to push its metrics", "PushAddressUnknown", "degraded"],
    ["node.conf drifts while another process may write it", "Locked", "degraded"],
    ["The lock next to node.conf can't be made", "LockFailed", "degraded"],
    ["No copy of node.conf can be kept before it is corrected", "BackupFailed", "degraded"],
  ]),
];

const upkeep: readonly DisplayedCondition[] = [
  ...buildRows("VersionSupported", [
    [
      "A height comes within `upgrade.warnBeforeSeconds` for which the node's version is too old",
      "OutdatedSoon",
      "degraded",
    ],
    ["The chain is at a height for which the node's version is too old", "Outdated", "degraded"],
    [
      "The node's version, height or rate of blocks is not known, so that the release list can't be compared",
      "NotCompared",
      "unknown",
    ],
  ]),
  ...buildRows("NodeCliWorking", [["node_cli is not run (`nodeCli.runner` is none)", "NotRun", "healthy"]]),
  ...buildRows("AutoPruneEnabled", [
    ["Auto-pruning stays on although it is to be off", "CannotDisable", "degraded"],
    ["node_cli, which switches auto-pruning on, is not there", "NotFound", "degraded"],
    ["node_cli, which switches auto-pruning on, may not be executed", "NotExecutable", "degraded"],
    ["node_cli hangs while it switches auto-pruning on", "TimedOut", "degraded"],
    ["node_cli prints without end while it switches auto-pruning on", "TooMuchOutput", "degraded"],
    ["node_cli prints something else than it should while it switches auto-pruning on", "UnexpectedOutput", "degraded"],
    ["node_cli fails to switch auto-pruning on", "Failed", "degraded"],
    ["node_cli has not shown whether auto-pruning is on (`NodeCliWorking` says why)", "NoPruneInfo", "healthy"],
  ]),
  ...buildRows("PruneAdvancing", [
    ["Auto-pruning is on, and nothing is pruned", "PruningStalled", "degraded"],
    ["Auto-pruning is off (`AutoPruneEnabled` says whether that is right)", "Disabled", "healthy"],
    ["node_cli does not print how far pruning is", "NotReported", "healthy"],
    ["node_cli printed nothing at the last look (`NodeCliWorking` says why)", "NoPruneInfo", "healthy"],
  ]),
  ...buildRows("MetricsArriving", [
    ["The Pushgateway rejects the node's pushes", "PushesRejected", "degraded"],
    ["Two nodes push under one job name", "JobShared", "degraded"],
    ["The node is not configured to push", "NotPushing", "healthy"],
    ["What the node pushes as is not known: node.conf or the version is not", "IdentityUnknown", "unknown"],
  ]),
  ...buildRows("DiskSpaceSufficient", [
    ["The disk of the node's data is full soon at its present slope", "FullSoon", "degraded"],
  ]),
  ...buildRows("ConnectionsAvailable", [
    ["As many connections are open as may be", "ConnectionsFull", "degraded"],
    ["The system does not report how many descriptors are open", "NotCounted", "healthy"],
  ]),
  ...buildRows("FilesLoaded", [["A file that is read again as it changes can't be used", "Rejected", "degraded"]]),
  ...buildRows("VolumeSizeSufficient", [
    ["The node's volume fills, and is at its ceiling", "AtMaxSize", "degraded"],
    ["The node's volume fills, and could not be made larger", "ResizeFailed", "degraded"],
    ["The node's volume can't be looked at", "ReadFailed", "unknown"],
  ]),
];

const restarts: readonly DisplayedCondition[] = [
  ...buildRows("NoRestartPending", [
    ["The node is being restarted", "Running", "working"],
    ["node.conf was edited a moment ago", "Settling", "working"],
    ["A restart is pending, and the sidecar could not remember that it made it", "StateNotWritable", "degraded"],
    ["A restart is pending, and another program keeps writing node.conf", "Contested", "degraded"],
    ["A restart is pending, and the node's own start overwrites node.conf", "StartRewrites", "degraded"],
    ["A restart is pending, and a hold is in force", "Paused", "degraded"],
    ["A restart is pending, and node.conf can't be used", "ConfigUnusable", "degraded"],
    ["node.conf was edited so that the node would not start with it", "EditRejected", "degraded"],
    ["node.conf was edited, and names a key on a file system that hangs", "EditNotChecked", "degraded"],
    ["A restart is pending, and the sidecar has not been adopted", "WaitingForApproval", "degraded"],
  ]),
  ...buildRows("RollbackReady", [
    ["What the node advances with can't be kept", "BackupFailed", "degraded"],
    ["There is nothing to go back to", "NoBackup", "degraded"],
    ["What is kept was not yet seen to be healthy", "Assumed", "healthy"],
    ["The node has not answered since its start", "NotYet", "healthy"],
    ["The sidecar restarts nothing here", "NoRestarts", "healthy"],
  ]),
  ...buildRows("UpgradeVerified", [
    ["An upgrade failed, and the old version is back", "RolledBack", "degraded"],
    ["An upgrade failed, and so did the way back", "RollbackFailed", "degraded"],
    ["An upgrade can't go on", "Blocked", "degraded"],
    ["An upgrade did not begin", "NotStarted", "degraded"],
    ["The node is being upgraded", "Upgrading", "unknown"],
    ["Data is being copied for an upgrade", "Preparing", "healthy"],
  ]),
  ...buildRows("DataIntact", [
    ["Signs speak against the node's data, and no other cause is found", "Suspect", "degraded"],
    ["Signs speak against the node's data, and other causes are not ruled out", "Inconclusive", "unknown"],
    [
      "The node was not seen well since the sidecar began, so that its data are not compared",
      "NeverHealthy",
      "healthy",
    ],
  ]),
];

/** Looks that end by an error that nobody foresaw: what they said before counts no more. */
const failedLooks: readonly DisplayedCondition[] = [
  ...buildRows("RpcResponding", [
    ["The look at the node's RPC ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("ChainIdMatches", [
    [
      "The look at the node's RPC, for its chain ends by an error that the sidecar does not foresee",
      "CheckFailed",
      "unknown",
    ],
  ]),
  ...buildRows("HeightAdvancing", [
    [
      "The look at the node's RPC, for its height ends by an error that the sidecar does not foresee",
      "CheckFailed",
      "unknown",
    ],
  ]),
  ...buildRows("NodeSynced", [
    ["The look at the references ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("WebSocketResponding", [
    ["The look at the node's WebSocket ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("GatewayServing", [
    ["The look at the gateway ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("CallsSucceeding", [
    ["The look at what became of calls ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("FilesLoaded", [
    ["The look at the changed files ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("VersionSupported", [
    ["The look at the release list ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("NodeCliWorking", [
    ["The look at node_cli ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("MetricsArriving", [
    ["The look at the Pushgateway ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("DiskSpaceSufficient", [
    [
      "The look at the disk of the node's data ends by an error that the sidecar does not foresee",
      "CheckFailed",
      "unknown",
    ],
  ]),
  ...buildRows("ConnectionsAvailable", [
    ["The look at file descriptors ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
  ...buildRows("VolumeSizeSufficient", [
    ["The look at the node's volume ends by an error that the sidecar does not foresee", "CheckFailed", "unknown"],
  ]),
];

/** Every reason of a condition that is False or Unknown has a row here, or a fault that a sidecar is struck with. */
export const shownConditions: readonly DisplayedCondition[] = [
  ...node,
  ...files,
  ...upkeep,
  ...restarts,
  ...failedLooks,
];
