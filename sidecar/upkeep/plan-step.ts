import { findDataPath } from "#node/conf/data-path.ts";
import { isRightForSomeVersion } from "#node/conf/any-version-match.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import type { SidecarSettings } from "../settings.ts";
import { recordAdoption, type ObservedAdoption } from "./adoption/adoption-observation.ts";
import { decideAuthority } from "./adoption/authority.ts";
import type { ConfigReading } from "./config/config-file.ts";
import type { ConfigVersions } from "./config/config-versions.ts";
import { planWithEarlierValues } from "./config/healthy-config.ts";
import type { ObservedConfig } from "./config/config-observation.ts";
import type { NodeLocation } from "./config/node-location.ts";
import type { NodeDriver } from "./drivers/driver.ts";
import type { NodeCli } from "./drivers/node-cli.ts";
import { hashDesiredState, createDesiredState } from "./plan/desired-state.ts";
import type { Plan } from "./plan/plan.ts";
import { createPlanView } from "./plan/plan-view.ts";
import { liftHoldIfChanged, type HoldDependencies } from "./restart/hold.ts";
import type { ObservedRestarts } from "./restart/restart-observation.ts";
import { saveNodeIdentity } from "./state/save-node-identity.ts";
import type { HeldState, UpkeepState } from "./state/upkeep-state.ts";
import type { VersionResolution } from "./version/version-resolution.ts";

/** Node version determined by the iteration's earlier steps. */
export type PlanRequest = Readonly<{
  resolution: VersionResolution;
  doubtOfPlace: string | undefined;
}>;

/** Observations that planning reads and updates. */
export type PlanSeen = Readonly<{ config: ObservedConfig; restarts: ObservedRestarts; adoption: ObservedAdoption }>;

export type PlanStepDependencies = HoldDependencies &
  Readonly<{
    settings: SidecarSettings;
    state: Pick<UpkeepState, "adopted" | "identity" | "nodeHas" | "nodeValues">;
    place: Pick<NodeLocation, "layout" | "fileDeadline">;
    observer: Readonly<{ pruneInfo: () => PruneInfo | undefined; missing: () => string | undefined }>;
    nodeCli: NodeCli | undefined;
    versions: ConfigVersions;
    log: Logger;
    driver: NodeDriver | undefined;
  }>;

/** Plans the actions that lead from the observed to the desired state, and records the plan for the operator. */
export type PlanStep = (
  reading: ConfigReading,
  request: PlanRequest,
) => Promise<Readonly<{ planned: Plan; desired: HeldState }>>;

export function createPlanStep(seen: PlanSeen, dependencies: PlanStepDependencies): PlanStep {
  const { settings, observer, state, place, nodeCli, driver } = dependencies;
  return async (reading, { resolution, doubtOfPlace }) => {
    const { version } = resolution;
    const layout = place.layout();
    const document = reading.ok ? reading.document : undefined;
    const last = document ?? seen.config.now().document;
    seen.config.note({ document: last });
    const desired = createDesiredState(
      settings,
      findDataPath(settings.node.dataPath, layout.pathsDirectory, last?.value),
    );
    const held = { hash: hashDesiredState(desired), release: version?.release };
    liftHoldIfChanged(held, seen.restarts, dependencies);
    const { fileDeadline } = place;
    if (document !== undefined) await saveNodeIdentity(document, layout, { ...dependencies, fileDeadline });
    const isUnjudged = version === undefined && document !== undefined;
    seen.config.note({ mayReportVersion: isUnjudged && isRightForSomeVersion(document, desired.monitor) });
    const pruneInfo = observer.pruneInfo();
    const doubt = resolution.doubt ?? doubtOfPlace;
    const observed = { document, version, doubt, pruneInfo, nodeHas: state.nodeHas.get() };
    const planned = await planWithEarlierValues(observed, settings, layout.pathsDirectory, dependencies);
    const means = {
      prunes: settings.prune.enabled && nodeCli !== undefined,
      restarts: driver !== undefined,
      missing: await listMissing(reading, dependencies),
    };
    const view = createPlanView(planned, pruneInfo, means);
    const authority = decideAuthority(settings.upkeep.mode, state);
    recordAdoption({ plan: view, authority, adopted: state.adopted.get() }, seen.adoption, dependencies);
    return { planned, desired: held };
  };
}

/** Lists what is missing for executing a plan, so that the operator knows before approving it. */
async function listMissing(
  reading: ConfigReading,
  { driver, observer }: Pick<PlanStepDependencies, "driver" | "observer">,
): Promise<readonly string[]> {
  const unable = await driver?.problem?.();
  const found = [
    reading.ok ? undefined : reading.problem.message,
    unable && `The node can't be restarted: ${unable}.`,
    observer.missing(),
  ];
  return found.filter((message) => message !== undefined);
}
