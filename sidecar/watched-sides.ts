import type { SidecarSettings } from "./settings.ts";
import type { ConditionType } from "#status/condition.ts";

/** The sides of the node that its sidecar watches by its settings, each of which is looked at soon after the start. */
export function watchedSides({ health, lag, pushgateway, volume }: SidecarSettings): readonly ConditionType[] {
  return [
    "RpcAnswering",
    "ChainIdExpected",
    "HeightAdvancing",
    ...when(lag.references.length > 0, "HeightCurrent"),
    ...when(health.webSocket, "WebSocketAnswering"),
    "GatewayServing",
    "StateKept",
    "ConfigValid",
    "UpkeepCurrent",
    "ConfigCurrent",
    "VersionAgreed",
    "NodeCliWorking",
    "AutoPruneOn",
    ...when(pushgateway.url !== undefined, "MetricsArriving"),
    "DiskSpaceLeft",
    ...when(volume.claim !== undefined, "VolumeLargeEnough"),
    "RestartSettled",
  ];
}

function when(isWatched: boolean, type: ConditionType): readonly ConditionType[] {
  return isWatched ? [type] : [];
}
