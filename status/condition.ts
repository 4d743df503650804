import { conditionReasons } from "./condition-reasons.ts";

/**
 * What the sidecar says about one side of the node, in the manner of Kubernetes conditions. `True` always means that this side
 * is right, so that one alert on `False` covers all of them.
 */
export type Condition = ConditionReport &
  Readonly<{
    /** When the status or the reason last changed, ISO 8601. */
    since: string;
  }>;

/** A condition as the part that watches it says it. `reason` is one word for machines, and belongs to its type and status. */
export type ConditionReport<Type extends ConditionType = ConditionType> = {
  [T in Type]: {
    [S in ConditionStatus]: Readonly<{
      type: T;
      status: S;
      reason: (typeof conditionReasons)[T][S][number];
      /** What is so, where, and what to do if it is wrong. */
      message: string;
    }>;
  }[ConditionStatus];
}[Type];

/** The reasons that a condition can have under a status. */
export type ReasonOf<
  Type extends ConditionType,
  Status extends ConditionStatus,
> = (typeof conditionReasons)[Type][Status][number];

/** `True`: right; `False`: wrong, somebody has to know; `Unknown`: can't be told, and why. */
export type ConditionStatus = "True" | "False" | "Unknown";

export type ConditionType = keyof typeof conditionReasons;

/** Every side of the node that is told about, in the order in which it is shown. */
export const conditionTypes = Object.keys(conditionReasons) as readonly ConditionType[];

/** What a person calls a side of the node while it is right, and while it is wrong. */
type Titles = Readonly<{ right: string; wrong: string }>;

const titles: Readonly<Record<ConditionType, Titles>> = {
  RpcAnswering: { right: "The RPC answers", wrong: "The RPC does not answer" },
  ChainIdExpected: { right: "The chain is the expected one", wrong: "The node is on another chain" },
  HeightAdvancing: { right: "The height advances", wrong: "The height does not advance" },
  HeightCurrent: { right: "The height keeps up", wrong: "The height lags behind the references" },
  WebSocketAnswering: { right: "The WebSocket answers", wrong: "The WebSocket does not answer" },
  GatewayResponsive: { right: "The gateway keeps up", wrong: "The gateway itself is slow" },
  GatewayServing: { right: "The gateway serves", wrong: "The gateway does not serve" },
  FilesInForce: { right: "Changed files are in force", wrong: "A changed file is refused" },
  StateKept: { right: "The sidecar keeps its state", wrong: "The sidecar can't keep its state" },
  ConfigValid: { right: "node.conf can be read", wrong: "node.conf can't be used" },
  UpkeepCurrent: { right: "The node is looked after", wrong: "The node is not looked after" },
  ConfigCurrent: { right: "node.conf is as desired", wrong: "node.conf is not as desired" },
  SoleWriter: { right: "Nobody else writes node.conf", wrong: "Somebody else writes node.conf" },
  VersionAgreed: { right: "The version is agreed on", wrong: "The version is contradictory" },
  NodeCliWorking: { right: "node_cli works", wrong: "node_cli does not work" },
  AutoPruneOn: { right: "Auto-pruning is as desired", wrong: "Auto-pruning is not as desired" },
  PruneAdvancing: { right: "Pruning advances", wrong: "Pruning does not advance" },
  MetricsArriving: { right: "Metrics arrive", wrong: "Metrics do not arrive" },
  DiskSpaceLeft: { right: "The disk has space", wrong: "The disk is nearly full" },
  FileDescriptorsLeft: { right: "Connections have room", wrong: "File descriptors or connections run short" },
  VolumeLargeEnough: { right: "The volume grows when it has to", wrong: "The volume can't grow" },
  RestartSettled: { right: "No restart is due", wrong: "A restart is due" },
  RollBackReady: { right: "There is a node.conf to go back to", wrong: "There is no node.conf to go back to" },
  UpgradeProved: { right: "The last upgrade is proved", wrong: "The last upgrade failed" },
  Adopted: { right: "The sidecar may act on this node, or only observes", wrong: "The sidecar waits for your word" },
  Unheld: { right: "No hold is in force", wrong: "Held: the sidecar does not act" },
};

/** A condition's title as the page shows it. */
export function findConditionTitle({ type, status, reason }: Pick<Condition, "type" | "status" | "reason">): string {
  if (type === "HeightAdvancing" && (reason === "Idle" || reason === "Quiet")) return "No new block comes";
  if (reason === "NoAnswer" || reason === "NoHeight") return "The height is not known";
  if (reason === "SettledByHand") return "The last upgrade was settled by hand";
  if (reason === "Blocked") return "The node's upgrade can't go on";
  if (reason === "Upgrading") return "The node is being upgraded";
  if (reason === "Running") return "The node is being restarted";
  if (reason === "Settling") return "The node is about to be restarted";
  if (reason === "NodeUnfit") return "The gateway refuses calls";
  return titles[type][status === "False" ? "wrong" : "right"];
}
