import type { Condition, ConditionType } from "./condition.ts";

/** Conditions that a cause makes wrong, too: with any reason, or with one of those listed. */
type Effects = Readonly<{ [Type in ConditionType]?: "any" | readonly Condition["reason"][] }>;

/** One cause, and what follows from it. */
type Cause = Readonly<{ type: ConditionType; reasons?: readonly Condition["reason"][]; effects: Effects }>;

const toolFails = ["Failed", "TimedOut", "Garbage", "NotFound", "NotExecutable", "TooMuchOutput"] as const;

/** Effects of a node that gives no answer. */
const ofSilence: Effects = {
  ChainIdExpected: "any",
  HeightAdvancing: "any",
  HeightCurrent: "any",
  WebSocketAnswering: "any",
  GatewayServing: "any",
  CallsAnswered: "any",
  PruneAdvancing: "any",
  MetricsArriving: ["Missing", "Stale"],
  VersionAgreed: ["VersionUnknown"],
  ConfigCurrent: ["VersionUnknown", "Drift"],
  NodeCliWorking: toolFails,
  AutoPruneOn: ["NotSwitchedOn", "Off", ...toolFails],
  RollBackReady: ["NothingKept"],
  RestartSettled: "any",
};

/** Effects of a chain that stands still, or of a node on another chain. */
const ofStandstill: Effects = {
  HeightCurrent: "any",
  GatewayServing: "any",
  CallsAnswered: ["NotServing"],
  PruneAdvancing: "any",
  RestartSettled: "any",
};

/**
 * Causes and their effects, causes first: each stands after whatever can be its own cause. Reasons tell apart what only looks alike: metrics
 * stop with the node, but not because of an unreachable Pushgateway.
 */
export const causes: readonly Cause[] = [
  {
    type: "UpgradeProved",
    reasons: ["Stranded", "Blocked", "Upgrading"],
    effects: { Unheld: "any", RpcAnswering: "any", VersionAgreed: "any", ConfigCurrent: "any", RestartSettled: "any" },
  },
  { type: "UpgradeProved", reasons: ["RolledBack"], effects: { Unheld: "any" } },
  { type: "DataSound", reasons: ["Suspect"], effects: { Unheld: "any", RpcAnswering: "any", ...ofSilence } },
  { type: "VersionSufficient", reasons: ["TooOld"], effects: { HeightAdvancing: "any", ...ofStandstill } },
  {
    type: "Unheld",
    effects: { RpcAnswering: "any", HeightAdvancing: "any", RestartSettled: "any", ConfigCurrent: "any" },
  },
  {
    type: "DiskSpaceLeft",
    effects: {
      StateKept: ["DiskFull"],
      ConfigCurrent: ["NotWritten", "NotKept"],
      RollBackReady: ["NotKept"],
      VolumeLargeEnough: "any",
    },
  },
  {
    type: "StateKept",
    effects: {
      UpkeepCurrent: "any",
      RestartSettled: ["StateNotKept"],
      RollBackReady: ["NotKept"],
      ConfigCurrent: ["NotKept"],
    },
  },
  {
    type: "ConfigValid",
    effects: {
      UpkeepCurrent: "any",
      ConfigCurrent: "any",
      DiskSpaceLeft: ["NotReadable"],
      AutoPruneOn: toolFails,
      NodeCliWorking: toolFails,
      RestartSettled: ["ConfigUnusable"],
      MetricsArriving: ["IdentityUnknown"],
      VersionAgreed: ["VersionUnknown"],
    },
  },
  {
    type: "RestartSettled",
    reasons: ["Running", "Settling"],
    effects: { ...ofSilence, RpcAnswering: "any", ConfigCurrent: "any", UpkeepCurrent: ["NotPassed"] },
  },
  { type: "RpcAnswering", effects: ofSilence },
  { type: "GatewayResponsive", effects: { CallsAnswered: ["Shed"] } },
  { type: "ChainIdExpected", effects: { HeightAdvancing: "any", ...ofStandstill } },
  { type: "HeightAdvancing", effects: ofStandstill },
  { type: "HeightCurrent", effects: { GatewayServing: "any", RestartSettled: "any" } },
  {
    type: "Adopted",
    effects: {
      RestartSettled: ["WaitingForAdopt"],
      ConfigCurrent: ["Drift"],
      AutoPruneOn: ["Off"],
      MetricsArriving: ["Missing"],
    },
  },
  {
    type: "SoleWriter",
    effects: { RestartSettled: ["Contested", "StartRewrites"], ConfigCurrent: ["Locked", "CannotLock", "Drift"] },
  },
  { type: "VersionAgreed", effects: { ConfigCurrent: ["VersionUnknown"], MetricsArriving: ["IdentityUnknown"] } },
  { type: "NodeCliWorking", effects: { AutoPruneOn: toolFails, VersionAgreed: ["VersionUnknown"] } },
  { type: "ConfigCurrent", effects: { MetricsArriving: ["Missing", "Stale", "JobShared"], RestartSettled: "any" } },
  { type: "AutoPruneOn", effects: { PruneAdvancing: "any" } },
];

/** Whether a cause, as it is now, can have made another condition False. */
export function explains(cause: Condition, effect: Condition): boolean {
  return causes.some(({ type, reasons, effects }) => {
    if (type !== cause.type || (reasons !== undefined && !reasons.includes(cause.reason))) return false;
    const expected = effects[effect.type];
    return expected === "any" || expected?.includes(effect.reason) === true;
  });
}

/** Ranks a condition in the order of causes; one that causes nothing else comes last. */
export function rankCondition({ type, reason }: Condition): number {
  const rank = causes.findIndex((cause) => cause.type === type && cause.reasons?.includes(reason) !== false);
  return rank === -1 ? causes.length : rank;
}
