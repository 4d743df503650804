import type { Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { EventLog } from "#status/event-log.ts";
import type { NodeLocation } from "../config/node-location.ts";
import type { NodeObserver } from "./node-observer.ts";
import type { VersionResolution } from "./version-resolution.ts";

export type VersionState = Readonly<{
  resolution?: VersionResolution | undefined;
  locationDoubt?: string | undefined;
  text?: string | undefined;
}>;

export type ObservedVersion = Observation<VersionState>;

/**
 * Determines the node's version; undefined until node and tool had a chance to report it. `locationDoubt`: why the location is inconsistent
 * with it.
 */
export async function trackVersion({
  version: seen,
  observer,
  place,
  events,
}: Readonly<{ version: ObservedVersion; observer: NodeObserver; place: NodeLocation; events: EventLog }>) {
  if (!observer.isReady()) return undefined;
  const resolution = observer.version();
  const { moved, doubt: locationDoubt } = await place.follow(resolution.version);
  const lastText = seen.now().text;
  const text = resolution.version?.text ?? lastText;
  if (lastText !== undefined && text !== lastText) {
    events.add("version", `The node's version changed from ${lastText} to ${text}.`, `${resolution.source} says so`);
  }
  seen.note({ resolution, locationDoubt, text });
  return { resolution, moved, locationDoubt };
}

export function deriveVersionConditions({ resolution, locationDoubt }: VersionState): readonly ConditionReport[] {
  const type = "VersionConsistent";
  if (resolution === undefined) return [];
  const { version, source, disagreements } = resolution;
  if (version === undefined) {
    return [{ type, status: "False", reason: "VersionUnknown", message: explainUnknownVersion(resolution) }];
  }
  const base = `The node's version is ${version.text} (${source}).`;
  if (locationDoubt !== undefined) {
    return [{ type, status: "False", reason: "Mismatch", message: `${base} But ${locationDoubt}.` }];
  }
  if (disagreements.length === 0) return [{ type, status: "True", reason: "Consistent", message: base }];
  const message = `${base} But ${disagreements.join(", and ")}; correct node.version or finish the upgrade.`;
  return [{ type, status: "False", reason: "Mismatch", message }];
}

function explainUnknownVersion({ heard, commit }: VersionResolution): string {
  const but =
    heard.length === 0 ? "no source reports it" : `${heard.join(", ")}, which is not a known version of this node`;
  const list =
    commit === undefined
      ? ""
      : ` Or list the release with its commit in upgrade.releasesPath: {version, commit: "${commit}"}.`;
  return `The node's version is unknown (${but}). Set node.version (GATEHOUSE_SIDECAR_NODE_VERSION) to the node's release, e.g. 0.16.2.${list}`;
}
