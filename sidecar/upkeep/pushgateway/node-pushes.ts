import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { isJsonObject, type ConfigDocument } from "#node/conf/document.ts";
import type { NodeVersion } from "#node/versions.ts";
import { watchPushes, type PushIdentity, type PushWatch } from "./push-watch.ts";
import type { VersionResolution } from "../version/version-resolution.ts";
import { findNaming, listKeySets } from "#node/conf/monitor-keys.ts";

/** Watches what the node pushes by the last node.conf that could be used; undefined if `pushgateway.url` is not set. */
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
 * Builds the identity that a node of a version pushes as; "unknown" if it can't be determined, undefined if it pushes nothing. A node of unknown version pushes
 * under either naming that node.conf has. Pure.
 */
export function buildPushIdentity(
  document: ConfigDocument | undefined,
  version: NodeVersion | undefined,
): PushIdentity | "unknown" | undefined {
  if (document === undefined) return "unknown";
  const monitor = document.chain["monitor_config"];
  if (!isJsonObject(monitor)) return undefined;
  const namings = version === undefined ? listKeySets().map(({ keys }) => keys) : [findNaming(version).own];
  const own = namings.find(({ enabled }) => monitor[enabled] === true);
  if (own === undefined) return undefined;
  const job = monitor[own.jobName];
  const interval = monitor[own.pushIntervalSeconds];
  if (typeof job !== "string") return undefined;
  return { job, intervalSeconds: typeof interval === "number" && interval >= 1 ? interval : 10 };
}
