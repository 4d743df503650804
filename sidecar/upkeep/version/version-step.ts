import type { EventLog } from "#status/event-log.ts";
import type { NodePlace } from "../config/node-place.ts";
import type { NodeObserver } from "./node-observer.ts";
import { noteVersion, type ObservedVersion } from "./version-observation.ts";
import type { VersionResolution } from "./version-resolution.ts";

/** Version of the node; `moved`: whether its place has changed; `doubtOfPlace`: why the place does not fit the version. */
export type FollowedVersion = Readonly<{
  resolution: VersionResolution;
  moved: boolean;
  doubtOfPlace: string | undefined;
}>;

/** Follows the node's version; returns undefined until it has had its chance to be reported, by the node itself first: nothing is said or done before. */
export type VersionStep = () => Promise<FollowedVersion | undefined>;

export function createVersionStep(
  seen: ObservedVersion,
  {
    observer,
    place,
    events,
  }: Readonly<{
    observer: Pick<NodeObserver, "version" | "hasHeardNode" | "hasLooked">;
    place: Pick<NodePlace, "follow">;
    events: EventLog;
  }>,
): VersionStep {
  return async () => {
    const resolution = observer.version();
    const { version } = resolution;
    if (!observer.hasHeardNode() || (version === undefined && !observer.hasLooked())) return undefined;
    const { moved, doubt: doubtOfPlace } = await place.follow(version);
    noteVersion(resolution, doubtOfPlace, seen, { events });
    return { resolution, moved, doubtOfPlace };
  };
}
