/**
 * What the sidecar says about one side of the node, in the manner of Kubernetes conditions. `True` always means that this side
 * is right, so that one alert on `False` covers all of them.
 */
export type Condition = Readonly<{
  type: ConditionType;
  status: ConditionStatus;
  /** One word for machines. */
  reason: string;
  /** What is so, where, and what to do if it is wrong. */
  message: string;
  /** When the status or the reason last changed, ISO 8601. */
  since: string;
}>;

type ConditionStatus = "True" | "False" | "Unknown";

/** Every side of the node that is told about, in the order in which it is shown. */
export const conditionTypes = [
  "RpcAnswering",
  "ChainIdExpected",
  "HeightAdvancing",
  "HeightCurrent",
  "WebSocketAnswering",
  "ConfigValid",
  "ConfigCurrent",
  "SoleWriter",
  "VersionAgreed",
  "NodeCliWorking",
  "AutoPruneOn",
  "PruneAdvancing",
  "MetricsArriving",
  "DiskSpaceLeft",
  "VolumeLargeEnough",
  "RestartSettled",
  "Unheld",
] as const;

export type ConditionType = (typeof conditionTypes)[number];
