import { findDataPath } from "#node/conf/data-path.ts";
import { matchesSomeVersion } from "#node/conf/any-version-match.ts";
import { recordAdoption } from "./adoption/adoption-observation.ts";
import type { ConfigReading } from "./config/config-file.ts";
import { planWithEarlierValues } from "./config/healthy-config.ts";
import type { Observations } from "./observations.ts";
import { hashDesiredState, createDesiredState } from "./plan/desired-state.ts";
import type { Plan } from "./plan/plan.ts";
import { createPlanView } from "./plan/plan-view.ts";
import { liftHoldIfChanged } from "./restart/hold.ts";
import { saveNodeIdentity } from "./state/save-node-identity.ts";
import type { PauseBasis } from "./state/upkeep-state.ts";
import type { UpkeepParts } from "./upkeep-parts.ts";
import type { VersionResolution } from "./version/version-resolution.ts";

/** Node version determined by the iteration's earlier steps. */
export type PlanRequest = Readonly<{
  resolution: VersionResolution;
  doubtOfPlace: string | undefined;
}>;

/** Plans the actions that lead from the observed to the desired state, and records the plan for the operator. */
export async function planChanges(
  reading: ConfigReading,
  { resolution, doubtOfPlace }: PlanRequest,
  seen: Observations,
  parts: UpkeepParts,
): Promise<Readonly<{ planned: Plan; desired: PauseBasis }>> {
  const { settings, observer, state, place, nodeCli, driver, authority } = parts;
  const { version } = resolution;
  const layout = place.layout();
  const { pathsDirectory } = layout;
  const document = reading.ok ? reading.document : undefined;
  const last = document ?? seen.config.now().document;
  seen.config.note({ document: last });
  const desired = createDesiredState(settings, findDataPath(settings.node.dataPath, pathsDirectory, last?.value));
  const held = { hash: hashDesiredState(desired), release: version?.release };
  liftHoldIfChanged(held, seen.restarts, parts);
  if (document !== undefined) await saveNodeIdentity(document, layout, { ...parts, fileDeadline: place.fileDeadline });
  const isUnjudged = version === undefined && document !== undefined;
  seen.config.note({ mayReportVersion: isUnjudged && matchesSomeVersion(document, desired.monitor) });
  const pruneInfo = observer.pruneInfo();
  const doubt = resolution.doubt ?? doubtOfPlace;
  const observed = { document, version, doubt, pruneInfo, nodeHas: state.nodeHas.get() };
  const planned = await planWithEarlierValues(observed, settings, pathsDirectory, parts);
  const plan = createPlanView(planned, pruneInfo, {
    prunes: settings.prune.enabled && nodeCli !== undefined,
    restarts: driver !== undefined,
    missing: await listMissing(reading, parts),
  });
  recordAdoption({ plan, authority: authority(), adopted: state.adopted.get() }, seen.adoption, parts);
  return { planned, desired: held };
}

/** Lists what is missing for executing a plan, so that the operator knows before approving it. */
async function listMissing(reading: ConfigReading, { driver, observer }: UpkeepParts): Promise<readonly string[]> {
  const unable = await driver?.problem?.();
  const found = [
    reading.ok ? undefined : reading.problem.message,
    unable && `The node can't be restarted: ${unable}.`,
    observer.missing(),
  ];
  return found.filter((message) => message !== undefined);
}
