import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { isJsonObject, type ConfigDocument } from "#node/conf/document.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { PushIdentity } from "./evaluate-pushes.ts";
import { watchPushes, type PushWatch } from "./push-watch.ts";
import type { VersionResolution } from "../version/version-resolution.ts";
import { findNaming, listKeySets, type Naming } from "#node/conf/monitor-config.ts";

/** Watches the node's pushes, based on the last usable node.conf; undefined if `pushgateway.url` is not set. */
export function watchNodePushes(
  { pushgateway }: SidecarSettings,
  document: () => ConfigDocument | undefined,
  dependencies: Readonly<{
    version: () => VersionResolution;
    board: ConditionBoard;
    clock: Clock;
    send: SendRequest;
    log: Logger;
    signal: AbortSignal;
  }>,
): PushWatch | undefined {
  const { url } = pushgateway;
  if (url === undefined) return undefined;
  const { version, signal } = dependencies;
  const identity = () => buildPushIdentity(document(), version().version);
  return watchPushes({ ...pushgateway, url, signal }, { ...dependencies, identity });
}

/**
 * Builds the push identity for a node of a given version; "unknown" if it can't be determined, undefined if the node pushes nothing. A node
 * whose version is unknown pushes under whichever naming node.conf has. Pure.
 */
export function buildPushIdentity(
  document: ConfigDocument | undefined,
  version: NodeVersion | undefined,
): PushIdentity | "unknown" | undefined {
  if (document === undefined) return "unknown";
  const monitor = document.chain["monitor_config"];
  if (!isJsonObject(monitor)) return undefined;
  const namings = version === undefined ? listKeySets().map(({ keys: own }) => ({ own })) : [findNaming(version)];
  const naming: Pick<Naming, "own" | "instanceKey"> | undefined = namings.find(
    ({ own }) => monitor[own.enabled] === true,
  );
  if (naming === undefined) return undefined;
  const { own, instanceKey } = naming;
  const job = monitor[own.jobName];
  const interval = monitor[own.pushIntervalSeconds];
  const named = instanceKey === undefined ? undefined : monitor[instanceKey];
  const instance = typeof named === "string" && named !== "" ? named : undefined;
  if (typeof job !== "string") return undefined;
  return { job, instance, intervalSeconds: typeof interval === "number" && interval >= 1 ? interval : 10 };
}
