import type { VerdictLevel } from "#status/verdict.ts";
import type { ConditionType, ReasonOf } from "#status/condition.ts";

/** A condition that no fault of the other tables brings about as its main one, and what a node is called of which this alone is not right. */
export type ShownCondition = {
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
): readonly ShownCondition[] {
  return list.map(
    // The parameters tie each reason to its type, which the compiler loses over the map.
    ([what, reason, verdict, readyz = 200]) => ({ what, condition: [type, reason], verdict, readyz }) as ShownCondition,
  );
}

const node: readonly ShownCondition[] = [
  ...buildRows("RpcAnswering", [
    ["No route leads to the node's address, or its name does not exist", "Unreachable", "down", 503],
    ["The node's port answers more than any node does", "TooLarge", "down", 503],
    ["No name server answers for the name in node.httpUrl, which was never resolved", "NameUnresolved", "down", 503],
  ]),
  ...buildRows("HeightAdvancing", [
    ["Blocks came steadily and come no more, and no references are set", "NoNewBlock", "wrong"],
    ["The RPC does not answer, so that the height is not known (`RpcAnswering` says why)", "NoAnswer", "unknown"],
  ]),
  ...buildRows("HeightCurrent", [
    ["The RPC does not answer, so that there is no height to compare", "NoHeight", "unknown"],
  ]),
  ...buildRows("WebSocketAnswering", [
    ["No name server answers for the name in node.webSocketUrl", "NameUnresolved", "wrong"],
    ["The node's WebSocket opens and answers nothing", "TimedOut", "wrong"],
    ["The node's WebSocket closes without an answer", "Closed", "wrong"],
    ["Another program answers at the node's WebSocket port", "NotJsonRpc", "wrong"],
  ]),
  ...buildRows("GatewayServing", [
    ["The node answers the sidecar, and the gateway learns no head", "NoHead", "down", 503],
    ["The gateway has just started, or has lost the node a moment ago", "HeadAwaited", "unknown", 503],
    ["The node is not fit for traffic (its own conditions say why)", "NodeUnfit", "down", 503],
  ]),
  ...buildRows("CallsAnswered", [
    ["The gateway turns many calls away: there is no room for them", "Shed", "wrong"],
    ["Calls failed, and hardly anybody calls any more", "TooFewCalls", "right"],
    ["Calls failed, and the gateway does not serve now (`GatewayServing` says why)", "NotServing", "right"],
  ]),
];

const files: readonly ShownCondition[] = [
  ...buildRows("SoleWriter", [["The node's own start overwrites node.conf at each restart", "StartRewrites", "wrong"]]),
  ...buildRows("StateKept", [
    ["The sidecar's state is on a file system that is mounted read-only", "ReadOnly", "wrong"],
    ["The sidecar's state can't be written for another reason", "NotWritten", "wrong"],
    ["The file system of the sidecar's state hangs", "Hanging", "wrong"],
  ]),
  ...buildRows("UpkeepCurrent", [
    ["Each look at the node fails", "Failing", "unknown"],
    ["A look at the node does not end", "Hanging", "unknown"],
    ["The sidecar has just started", "NotPassed", "unknown"],
  ]),
  ...buildRows("ConfigCurrent", [
    ["node.conf can't be judged without the node's version", "VersionUnknown", "wrong"],
    ["Nothing says where the node is to push its metrics", "PushAddressUnknown", "wrong"],
    ["node.conf drifts while another process may write it", "Locked", "wrong"],
    ["The lock next to node.conf can't be made", "CannotLock", "wrong"],
    ["No copy of node.conf can be kept before it is corrected", "NotKept", "wrong"],
  ]),
];

const upkeep: readonly ShownCondition[] = [
  ...buildRows("VersionSufficient", [
    [
      "A height comes within `upgrade.warnBeforeSeconds` for which the node's version is too old",
      "TooOldSoon",
      "wrong",
    ],
    ["The chain is at a height for which the node's version is too old", "TooOld", "wrong"],
    [
      "The node's version, height or rate of blocks is not known, so that the release list can't be compared",
      "NotCompared",
      "unknown",
    ],
  ]),
  ...buildRows("NodeCliWorking", [["node_cli is not run (`nodeCli.runner` is none)", "NotRun", "right"]]),
  ...buildRows("AutoPruneOn", [
    ["Auto-pruning stays on although it is to be off", "PruneStaysOn", "wrong"],
    ["node_cli, which switches auto-pruning on, is not there", "NotFound", "wrong"],
    ["node_cli, which switches auto-pruning on, may not be executed", "NotExecutable", "wrong"],
    ["node_cli hangs while it switches auto-pruning on", "TimedOut", "wrong"],
    ["node_cli prints without end while it switches auto-pruning on", "TooMuchOutput", "wrong"],
    ["node_cli prints something else than it should while it switches auto-pruning on", "Garbage", "wrong"],
    ["node_cli fails to switch auto-pruning on", "Failed", "wrong"],
    ["node_cli has not shown whether auto-pruning is on (`NodeCliWorking` says why)", "NoPruneInfo", "right"],
  ]),
  ...buildRows("PruneAdvancing", [
    ["Auto-pruning is on, and nothing is pruned", "PruningStalled", "wrong"],
    ["Auto-pruning is off (`AutoPruneOn` says whether that is right)", "Off", "right"],
    ["node_cli does not print how far pruning is", "NotPrinted", "right"],
    ["node_cli printed nothing at the last look (`NodeCliWorking` says why)", "NoPruneInfo", "right"],
  ]),
  ...buildRows("MetricsArriving", [
    ["The Pushgateway rejects the node's pushes", "PushesRejected", "wrong"],
    ["Two nodes push under one job name", "JobShared", "wrong"],
    ["The node is not configured to push", "NotPushing", "right"],
    ["What the node pushes as is not known: node.conf or the version is not", "IdentityUnknown", "unknown"],
  ]),
  ...buildRows("DiskSpaceLeft", [
    ["The disk of the node's data is full soon at its present slope", "FullSoon", "wrong"],
  ]),
  ...buildRows("FileDescriptorsLeft", [
    ["As many connections are open as may be", "ConnectionsFull", "wrong"],
    ["The system does not report how many descriptors are open", "NotCounted", "right"],
  ]),
  ...buildRows("FilesInForce", [["A file that is read again as it changes can't be used", "Refused", "wrong"]]),
  ...buildRows("VolumeLargeEnough", [
    ["The node's volume fills, and is at its ceiling", "AtCeiling", "wrong"],
    ["The node's volume fills, and could not be made larger", "NotGrown", "wrong"],
    ["The node's volume can't be looked at", "NotReadable", "unknown"],
  ]),
];

const restarts: readonly ShownCondition[] = [
  ...buildRows("RestartSettled", [
    ["The node is being restarted", "Running", "working"],
    ["node.conf was edited a moment ago", "Settling", "working"],
    ["A restart is due, and the sidecar could not remember that it made it", "StateNotKept", "wrong"],
    ["A restart is due, and another program keeps writing node.conf", "Contested", "wrong"],
    ["A restart is due, and the node's own start overwrites node.conf", "StartRewrites", "wrong"],
    ["A restart is due, and a hold is in force", "Held", "wrong"],
    ["A restart is due, and node.conf can't be used", "ConfigUnusable", "wrong"],
    ["node.conf was edited so that the node would not start with it", "EditRefused", "wrong"],
    ["node.conf was edited, and names a key on a file system that hangs", "EditNotJudged", "wrong"],
    ["A restart is due, and the sidecar has not been adopted", "WaitingForAdopt", "wrong"],
  ]),
  ...buildRows("RollBackReady", [
    ["What the node advances with can't be kept", "NotKept", "wrong"],
    ["There is nothing to go back to", "NothingKept", "wrong"],
    ["What is kept was not yet seen to be healthy", "Assumed", "right"],
    ["The node has not answered since its start", "NotYet", "right"],
    ["The sidecar restarts nothing here", "NoRestarts", "right"],
  ]),
  ...buildRows("UpgradeProved", [
    ["An upgrade failed, and the old version is back", "RolledBack", "wrong"],
    ["An upgrade failed, and so did the way back", "Stranded", "wrong"],
    ["An upgrade can't go on", "Blocked", "wrong"],
    ["An upgrade did not begin", "NotBegun", "wrong"],
    ["The node is being upgraded", "Upgrading", "unknown"],
    ["The data are copied for an upgrade", "Preparing", "right"],
  ]),
  ...buildRows("DataSound", [
    ["Signs speak against the node's data, and no other cause is found", "Suspect", "wrong"],
    ["Signs speak against the node's data, and other causes are not ruled out", "InDoubt", "unknown"],
    ["The node was not seen well since the sidecar began, so that its data are not compared", "NotSeenWell", "right"],
  ]),
];

/** Looks that end by an error that nobody foresaw: what they said before counts no more. */
const failedLooks: readonly ShownCondition[] = [
  ...buildRows("RpcAnswering", [
    ["The look at the node's RPC ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("ChainIdExpected", [
    [
      "The look at the node's RPC, for its chain ends by an error that the sidecar does not foresee",
      "LookFailed",
      "unknown",
    ],
  ]),
  ...buildRows("HeightAdvancing", [
    [
      "The look at the node's RPC, for its height ends by an error that the sidecar does not foresee",
      "LookFailed",
      "unknown",
    ],
  ]),
  ...buildRows("HeightCurrent", [
    ["The look at the references ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("WebSocketAnswering", [
    ["The look at the node's WebSocket ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("GatewayServing", [
    ["The look at the gateway ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("CallsAnswered", [
    ["The look at what became of calls ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("FilesInForce", [
    ["The look at the changed files ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("VersionSufficient", [
    ["The look at the release list ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("NodeCliWorking", [
    ["The look at node_cli ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("MetricsArriving", [
    ["The look at the Pushgateway ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("DiskSpaceLeft", [
    [
      "The look at the disk of the node's data ends by an error that the sidecar does not foresee",
      "LookFailed",
      "unknown",
    ],
  ]),
  ...buildRows("FileDescriptorsLeft", [
    ["The look at file descriptors ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
  ...buildRows("VolumeLargeEnough", [
    ["The look at the node's volume ends by an error that the sidecar does not foresee", "LookFailed", "unknown"],
  ]),
];

/** Every reason of a condition that is False or Unknown has a row here, or a fault that a sidecar is struck with. */
export const shownConditions: readonly ShownCondition[] = [...node, ...files, ...upkeep, ...restarts, ...failedLooks];
