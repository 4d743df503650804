import type { EventLog } from "#status/event-log.ts";
import type { NodeLocation } from "../config/node-location.ts";
import type { NodeObserver } from "./node-observer.ts";
import { recordVersion, type ObservedVersion } from "./version-observation.ts";
import type { VersionResolution } from "./version-resolution.ts";

/** The node's version. `moved`: whether its location has changed; `doubtOfPlace`: why the location is inconsistent with the version. */
export type TrackedVersion = Readonly<{
  resolution: VersionResolution;
  moved: boolean;
  doubtOfPlace: string | undefined;
}>;

/** Tracks the node's version. Returns undefined until the node and the tool have had a chance to report it; before that, nothing is reported or done. */
export type VersionStep = () => Promise<TrackedVersion | undefined>;

export function createVersionStep(
  seen: ObservedVersion,
  {
    observer,
    place,
    events,
  }: Readonly<{
    observer: Pick<NodeObserver, "version" | "isReady">;
    place: Pick<NodeLocation, "follow">;
    events: EventLog;
  }>,
): VersionStep {
  return async () => {
    if (!observer.isReady()) return undefined;
    const resolution = observer.version();
    const { moved, doubt: doubtOfPlace } = await place.follow(resolution.version);
    recordVersion(resolution, doubtOfPlace, seen, { events });
    return { resolution, moved, doubtOfPlace };
  };
}
