import {
  conditionReasons,
  toolFailureReasons,
  stateStoreFailureReasons,
  unusableConfigReasons,
} from "./condition-reasons.ts";

/**
 * What the sidecar reports about its node, modeled on Kubernetes conditions. `True` always means healthy, so that a single alert on `False`
 * covers all conditions.
 */
export type Condition = ConditionReport &
  Readonly<{
    /** Time at which the title last changed, ISO 8601: a fault keeps its age when its reason changes. */
    since: string;
  }>;

/** A condition as reported by the component that watches it. `reason` is one machine-readable word, specific to the type and status. */
export type ConditionReport<Type extends ConditionType = ConditionType> = {
  [T in Type]: {
    [S in ConditionStatus]: Readonly<{
      type: T;
      status: S;
      reason: (typeof conditionReasons)[T][S][number];
      /** Finding, for humans: what was found, where, and what to do about it if the condition is not True. */
      message: string;
    }>;
  }[ConditionStatus];
}[Type];

export type ReasonOf<
  Type extends ConditionType,
  Status extends ConditionStatus,
> = (typeof conditionReasons)[Type][Status][number];

/** `True`: healthy; `False`: something is wrong that an operator has to know about; `Unknown`: not known, with the reason. */
export type ConditionStatus = "True" | "False" | "Unknown";

export type ConditionType = keyof typeof conditionReasons;

/** Every condition of a node, in display order. */
export const conditionTypes = Object.keys(conditionReasons) as readonly ConditionType[];

/** A condition's display titles: for True, for False, and for Unknown by reason. */
type Titles<Type extends ConditionType> = Readonly<{ healthy: string; unhealthy: string }> &
  ([ReasonOf<Type, "Unknown">] extends [never]
    ? unknown
    : Readonly<{ unknown: Readonly<Record<ReasonOf<Type, "Unknown">, string>> }>);

const titles: { readonly [Type in ConditionType]: Titles<Type> } = {
  RpcResponding: {
    healthy: "The RPC responds",
    unhealthy: "The RPC is not responding",
    unknown: { CheckFailed: "The RPC's status is unknown" },
  },
  ChainIdMatches: {
    healthy: "The chain id matches",
    unhealthy: "The node is on the wrong chain",
    unknown: { CheckFailed: "The chain id is unknown" },
  },
  HeightAdvancing: {
    healthy: "The height advances",
    unhealthy: "The height does not advance",
    unknown: {
      Quiet: "No new blocks",
      NoResponse: "The height is unknown",
      CheckFailed: "The height is unknown",
    },
  },
  NodeSynced: {
    healthy: "The node is in sync",
    unhealthy: "The node is behind the reference nodes",
    unknown: {
      NoReference: "Sync status is unknown: no reference node to compare with",
      NoHeight: "The height is unknown",
      CheckFailed: "Sync status is unknown: no reference node to compare with",
    },
  },
  WebSocketResponding: {
    healthy: "The WebSocket responds",
    unhealthy: "The WebSocket is not responding",
    unknown: { CheckFailed: "The WebSocket's status is unknown" },
  },
  GatewayResponsive: { healthy: "The gateway keeps up", unhealthy: "The gateway itself is slow" },
  GatewayServing: {
    healthy: "The gateway serves",
    unhealthy: "The gateway is not serving",
    unknown: {
      WaitingForHead: "The gateway is waiting for the chain head",
      NodeUnhealthy: "The gateway is rejecting calls",
      CheckFailed: "The gateway's status is unknown",
    },
  },
  CallsSucceeding: {
    healthy: "Calls succeed",
    unhealthy: "Calls fail",
    unknown: {
      TooFewCalls: "Too few calls to evaluate",
      NotServing: "Calls are not monitored",
      CheckFailed: "The calls' status is unknown",
    },
  },
  FilesLoaded: {
    healthy: "Changed files are loaded",
    unhealthy: "A changed file was rejected",
    unknown: { CheckFailed: "Whether changed files are loaded is unknown" },
  },
  Reconciling: {
    healthy: "The node is reconciled",
    unhealthy: "Reconciliation has stopped",
    unknown: { NotReconciledYet: "The node has not been checked yet" },
  },
  ConfigReconciled: {
    healthy: "node.conf matches the desired configuration",
    unhealthy: "node.conf differs from the desired configuration",
  },
  VersionConsistent: { healthy: "The version is consistent", unhealthy: "Version sources disagree" },
  VersionSupported: {
    healthy: "The chain supports this version",
    unhealthy: "The version is outdated for the chain",
    unknown: {
      NotCompared: "The version was not checked against the release list",
      CheckFailed: "The version was not checked against the release list",
    },
  },
  Pruning: {
    healthy: "Pruning matches the setting",
    unhealthy: "Pruning does not match the setting",
    unknown: { NotRun: "Pruning is not monitored: node_cli is not run", CheckFailed: "Pruning status is unknown" },
  },
  MetricsArriving: {
    healthy: "Metrics arrive",
    unhealthy: "Metrics are missing",
    unknown: {
      NotPushing: "The node pushes no metrics",
      IdentityUnknown: "The node's metrics can't be identified",
      CheckFailed: "Metrics status is unknown",
    },
  },
  DiskSpaceSufficient: {
    healthy: "Disk space is sufficient",
    unhealthy: "The disk is nearly full",
    unknown: { ReadFailed: "Disk space can't be read", CheckFailed: "Disk space is unknown" },
  },
  ConnectionsAvailable: {
    healthy: "Connections are available",
    unhealthy: "File descriptors or connections are running out",
    unknown: {
      NotCounted: "File descriptors can't be counted",
      CheckFailed: "Connection status is unknown",
    },
  },
  NoRestartPending: { healthy: "No restart is pending", unhealthy: "A restart is pending" },
  RollbackReady: {
    healthy: "A rollback configuration is available",
    unhealthy: "No rollback configuration is available",
    unknown: {
      Assumed: "The rollback configuration is not verified",
      NotYet: "No configuration is verified yet",
      NoRestarts: "Restarts are disabled",
    },
  },
  UpgradeVerified: {
    healthy: "The last upgrade is verified",
    unhealthy: "The last upgrade failed",
    unknown: {
      Upgrading: "The node is being upgraded",
    },
  },
  DataIntact: {
    healthy: "The node's data is intact",
    unhealthy: "The node's data appears corrupt",
    unknown: {
      Inconclusive: "The node's data may be corrupt",
      NeverHealthy: "The node's data has no healthy baseline yet",
    },
  },
  NotPaused: { healthy: "The sidecar is not paused", unhealthy: "The sidecar is paused" },
};

/** Titles for reasons, where they are more specific than the status's title. */
const reasonTitles: Readonly<Record<string, string>> = {
  "HeightAdvancing Idle": "No new blocks",
  "NotPaused Observing": "The sidecar only observes",
  "NotPaused WaitingForApproval": "The sidecar is waiting for your approval",
  "UpgradeVerified ResolvedManually": "The last upgrade was resolved manually",
  "UpgradeVerified Blocked": "The node's upgrade is blocked",
  "VersionSupported OutdatedSoon": "The version will soon be outdated for the chain",
  "DiskSpaceSufficient AtMaxSize": "The volume can't grow",
  "DiskSpaceSufficient ResizeFailed": "The volume can't grow",
  "CallsSucceeding Overloaded": "Calls are rejected: overloaded",
  ...Object.fromEntries(
    stateStoreFailureReasons.map((reason) => [`Reconciling ${reason}`, "The sidecar can't store its state"]),
  ),
  ...Object.fromEntries(
    unusableConfigReasons.map((reason) => [`ConfigReconciled ${reason}`, "node.conf can't be used"]),
  ),
  ...Object.fromEntries(toolFailureReasons.map((reason) => [`Pruning ${reason}`, "node_cli fails"])),
  "ConfigReconciled PushAddressUnknown": "The Pushgateway's address is not set",
  "ConfigReconciled Contested": "Another program keeps changing node.conf",
  "ConfigReconciled StartRewrites": "The node's start script overwrites node.conf",
  "VersionConsistent VersionUnknown": "The node's version is unknown",
  "Pruning PruningStalled": "Pruning does not advance",
  "MetricsArriving PushgatewayUnreachable": "The Pushgateway can't be queried",
  "MetricsArriving JobShared": "Several nodes push metrics as one job",
  "NoRestartPending Running": "The node is being restarted",
  "NoRestartPending Settling": "The node is about to be restarted",
  "NoRestartPending EditRejected": "The edit of node.conf is rejected",
  "NoRestartPending ProgramMissing": "The node can't be restarted",
  "NoRestartPending NodeStopped": "The node's container is stopped",
};

/** Finds a condition's title for the page. An Unknown condition never gets a healthy title. */
export function findConditionTitle({ type, status, reason }: Pick<Condition, "type" | "status" | "reason">): string {
  const side: Readonly<{ healthy: string; unhealthy: string; unknown?: Readonly<Record<string, string>> }> =
    titles[type];
  const whole = { True: side.healthy, False: side.unhealthy, Unknown: side.unknown?.[reason] ?? `Not known: ${type}` };
  return reasonTitles[`${type} ${reason}`] ?? whole[status];
}
