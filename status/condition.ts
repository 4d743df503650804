import { conditionReasons } from "./condition-reasons.ts";

/**
 * A statement of the sidecar about its node, in the manner of Kubernetes conditions. `True` always means that this side
 * is right, so that one alert on `False` covers all of them.
 */
export type Condition = ConditionReport &
  Readonly<{
    /** Time of the last change of status or reason, ISO 8601. */
    since: string;
  }>;

/** A condition as the part that watches it reports it. `reason` is one word for machines, and belongs to its type and status. */
export type ConditionReport<Type extends ConditionType = ConditionType> = {
  [T in Type]: {
    [S in ConditionStatus]: Readonly<{
      type: T;
      status: S;
      reason: (typeof conditionReasons)[T][S][number];
      /** Finding for people: what was found, where, and what to do if it is wrong. */
      message: string;
    }>;
  }[ConditionStatus];
}[Type];

/** The reasons that a condition can have under a status. */
export type ReasonOf<
  Type extends ConditionType,
  Status extends ConditionStatus,
> = (typeof conditionReasons)[Type][Status][number];

/** `True`: right; `False`: wrong, somebody has to know; `Unknown`: not known, and why. */
export type ConditionStatus = "True" | "False" | "Unknown";

export type ConditionType = keyof typeof conditionReasons;

/** Every condition of a node, in the order in which they are shown. */
export const conditionTypes = Object.keys(conditionReasons) as readonly ConditionType[];

/** Titles of a condition for people: while it is True, False, and Unknown by the reason. */
type Titles<Type extends ConditionType> = Readonly<{ right: string; wrong: string }> &
  ([ReasonOf<Type, "Unknown">] extends [never]
    ? unknown
    : Readonly<{ unknown: Readonly<Record<ReasonOf<Type, "Unknown">, string>> }>);

const titles: { readonly [Type in ConditionType]: Titles<Type> } = {
  RpcAnswering: {
    right: "The RPC answers",
    wrong: "The RPC does not answer",
    unknown: { LookFailed: "Whether the RPC answers is not known" },
  },
  ChainIdExpected: {
    right: "The chain is the expected one",
    wrong: "The node is on another chain",
    unknown: { LookFailed: "The chain is not known" },
  },
  HeightAdvancing: {
    right: "The height advances",
    wrong: "The height does not advance",
    unknown: {
      Quiet: "No new block comes",
      NoAnswer: "The height is not known",
      LookFailed: "The height is not known",
    },
  },
  HeightCurrent: {
    right: "The height keeps up",
    wrong: "The height lags behind the references",
    unknown: {
      NoReference: "The height is compared with no other node",
      NoHeight: "The height is not known",
      LookFailed: "The height is compared with no other node",
    },
  },
  WebSocketAnswering: {
    right: "The WebSocket answers",
    wrong: "The WebSocket does not answer",
    unknown: { LookFailed: "Whether the WebSocket answers is not known" },
  },
  GatewayResponsive: { right: "The gateway keeps up", wrong: "The gateway itself is slow" },
  GatewayServing: {
    right: "The gateway serves",
    wrong: "The gateway does not serve",
    unknown: {
      HeadAwaited: "The gateway waits for the head of the chain",
      NodeUnfit: "The gateway refuses calls",
      LookFailed: "Whether the gateway serves is not known",
    },
  },
  CallsAnswered: {
    right: "Callers get answers",
    wrong: "Calls fail",
    unknown: {
      TooFewCalls: "Hardly anybody calls",
      NotServing: "Calls are not judged",
      LookFailed: "Whether callers get answers is not known",
    },
  },
  FilesInForce: {
    right: "Changed files are in force",
    wrong: "A changed file is refused",
    unknown: { LookFailed: "Whether changed files are in force is not known" },
  },
  StateKept: { right: "The sidecar keeps its state", wrong: "The sidecar can't keep its state" },
  ConfigValid: { right: "node.conf can be read", wrong: "node.conf can't be used" },
  UpkeepCurrent: {
    right: "The node is looked after",
    wrong: "The node is not looked after",
    unknown: { NotPassed: "The node has not been looked at yet" },
  },
  ConfigCurrent: { right: "node.conf is as desired", wrong: "node.conf is not as desired" },
  SoleWriter: { right: "Nobody else writes node.conf", wrong: "Somebody else writes node.conf" },
  VersionAgreed: { right: "The version is agreed on", wrong: "The version is contradictory" },
  VersionSufficient: {
    right: "The version is new enough for the chain",
    wrong: "The version is too old for the chain",
    unknown: {
      NotCompared: "The version is not compared with the release list",
      LookFailed: "The version is not compared with the release list",
    },
  },
  NodeCliWorking: {
    right: "node_cli works",
    wrong: "node_cli does not work",
    unknown: { NotRun: "node_cli has not been run", LookFailed: "Whether node_cli works is not known" },
  },
  AutoPruneOn: {
    right: "Auto-pruning is as desired",
    wrong: "Auto-pruning is not as desired",
    unknown: { NoPruneInfo: "Auto-pruning is not known to be on" },
  },
  PruneAdvancing: {
    right: "Pruning advances",
    wrong: "Pruning does not advance",
    unknown: {
      Off: "Auto-pruning is off",
      NotPrinted: "The pruning height is not reported",
      NoPruneInfo: "How far pruning is is not known",
    },
  },
  MetricsArriving: {
    right: "Metrics arrive",
    wrong: "Metrics do not arrive",
    unknown: {
      NotPushing: "The node pushes no metrics",
      IdentityUnknown: "The node's metrics can't be recognised",
      LookFailed: "Whether metrics arrive is not known",
    },
  },
  DiskSpaceLeft: {
    right: "The disk has space",
    wrong: "The disk is nearly full",
    unknown: { NotReadable: "The disk's space can't be read", LookFailed: "The disk's space is not known" },
  },
  FileDescriptorsLeft: {
    right: "Connections have room",
    wrong: "File descriptors or connections run short",
    unknown: {
      NotCounted: "File descriptors can't be counted",
      LookFailed: "Whether connections have room is not known",
    },
  },
  VolumeLargeEnough: {
    right: "The volume grows when it has to",
    wrong: "The volume can't grow",
    unknown: { NotReadable: "The volume's size can't be read", LookFailed: "The volume's size is not known" },
  },
  RestartSettled: { right: "No restart is due", wrong: "A restart is due" },
  RollBackReady: {
    right: "There is a node.conf to go back to",
    wrong: "There is no node.conf to go back to",
    unknown: {
      Assumed: "The node.conf to go back to is not proved",
      NotYet: "No node.conf is proved yet",
      NoRestarts: "The sidecar does not restart this node",
    },
  },
  UpgradeProved: {
    right: "The last upgrade is proved",
    wrong: "The last upgrade failed",
    unknown: {
      Upgrading: "The node is being upgraded",
      Preparing: "The data are copied for an upgrade",
    },
  },
  DataSound: {
    right: "The node's data are whole",
    wrong: "Signs speak against the node's data",
    unknown: {
      InDoubt: "The node's data are in doubt",
      NotSeenWell: "The node's data are not compared yet",
      NotLooked: "The node's data can't be looked at",
    },
  },
  Adopted: {
    right: "The sidecar may act on this node, or only observes",
    wrong: "The sidecar waits for your approval",
  },
  Unheld: { right: "The sidecar is not paused", wrong: "Paused: the sidecar does not act" },
};

/** Reasons whose title says more than that of their status. */
const reasonTitles: Readonly<Record<string, string>> = {
  "HeightAdvancing Idle": "No new block comes",
  "UpgradeProved SettledByHand": "The last upgrade was settled by hand",
  "UpgradeProved Blocked": "The node's upgrade can't go on",
  "VersionSufficient TooOldSoon": "The version will be too old for the chain",
  "UpgradeProved NotBegun": "The upgrade did not begin",
  "UpgradeProved Withdrawn": "The upgrade was withdrawn",
  "CallsAnswered Shed": "Calls are turned away",
  "RestartSettled Running": "The node is being restarted",
  "RestartSettled Settling": "The node is about to be restarted",
  "RestartSettled ProgramMissing": "The node can't be restarted",
};

/** Finds a condition's title for the page. It never reads as right while nobody knows. */
export function findConditionTitle({ type, status, reason }: Pick<Condition, "type" | "status" | "reason">): string {
  const side: Readonly<{ right: string; wrong: string; unknown?: Readonly<Record<string, string>> }> = titles[type];
  const whole = { True: side.right, False: side.wrong, Unknown: side.unknown?.[reason] ?? `Not known: ${type}` };
  return reasonTitles[`${type} ${reason}`] ?? whole[status];
}
