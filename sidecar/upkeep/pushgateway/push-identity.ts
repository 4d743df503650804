import { isJsonObject, type ConfigDocument } from "#node/conf/document.ts";
import { findNaming, listKeySets, type Naming } from "#node/conf/monitor-config.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { PushIdentity } from "./evaluate-pushes.ts";

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
