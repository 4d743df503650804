import type { NodeVersion } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { Authority } from "../adoption/authority.ts";
import type { ClockThen } from "../clock-reading.ts";
import type { Plan } from "../plan/plan.ts";
import type { AuditedConfig, UpkeepState } from "../state/upkeep-state.ts";
import {
  applyConfig,
  compareConfig,
  type AppliedConfig,
  type ApplyConfigDependencies,
  type CompareConfigDependencies,
} from "./apply-config.ts";
import { checkConfig, type CheckConfigDependencies, type Judgement } from "./check-config.ts";
import type { ConfigReading } from "./config-file.ts";
import type { ObservedConfig } from "./config-observation.ts";
import { saveConfigBeforeEdit } from "./healthy-config.ts";
import type { NodeLocation } from "./node-location.ts";
import { dirname } from "node:path";
import type { Logger } from "#daemon/log/log.ts";
import type { ConfigVersions } from "./config-versions.ts";
import { tidyAroundConfig } from "./config-writer.ts";

/** A reading of node.conf, and the last audited content at the time when the read started. */
export type ConfigCheck = Readonly<{ reading: ConfigReading; auditedThen: AuditedConfig | undefined }>;

/** Reconcile steps for node.conf. */
export type ConfigStep = Readonly<{
  path: () => string;
  read: () => Promise<ConfigCheck>;
  /** Renews the watch after a change without an event: in that case it watches a removed path, e.g. a deleted directory. */
  renewWatch: (reading: ConfigReading, found: Readonly<{ isFirst: boolean }>) => Promise<void>;
  /** Determines whether node.conf is usable. */
  judge: (look: ConfigCheck, authority: Authority) => Promise<Judgement>;
  /** Removes files left over by an earlier sidecar. */
  tidy: () => Promise<void>;
  /** Saves the content that node.conf had before it was changed externally. */
  keepBefore: (reading: ConfigReading, found: Readonly<{ isFirst: boolean }>) => Promise<void>;
  /** Writes node.conf as planned if allowed, and records its new state. */
  write: (planned: Plan, reading: ConfigReading, allowed: ConfigWrite) => Promise<AppliedConfig | undefined>;
}>;

/** Context of a write. `idle`: reason why nothing may be written. */
export type ConfigWrite = Readonly<{
  idle: string | undefined;
  judged: Judgement;
  version: NodeVersion | undefined;
}>;

export type ConfigStepDependencies = CheckConfigDependencies &
  ApplyConfigDependencies &
  CompareConfigDependencies &
  Parameters<typeof tidyConfig>[0] &
  Readonly<{
    place: Pick<NodeLocation, "layout" | "read" | "watch">;
    state: Pick<UpkeepState, "store">;
    clockThen: ClockThen;
    isRestarting: () => boolean;
  }>;

/** Creates the reconcile steps for node.conf. */
export function createConfigStep(
  { restoreAfterMs, configLimitBytes: limitBytes }: SidecarSettings["upkeep"],
  config: ObservedConfig,
  dependencies: ConfigStepDependencies,
): ConfigStep {
  const { place, state, clockThen, isRestarting } = dependencies;
  return {
    path: () => place.layout().configPath,
    read: async () => {
      const auditedThen = state.auditedConfig.get();
      return { reading: await place.read(), auditedThen };
    },
    renewWatch: async ({ contentHash }, { isFirst }) => {
      const isEvent = place.watch.takeEvent();
      if (!isFirst && !isEvent && contentHash !== config.now().contentHash)
        await place.watch.renew(place.layout().configPath);
    },
    judge: ({ reading, auditedThen }, authority) => {
      const options = { authority, restoreAfterMs, limitBytes, clockThen, isRestarting: isRestarting(), auditedThen };
      return checkConfig(reading, config, options, dependencies);
    },
    tidy: () => tidyConfig(dependencies),
    keepBefore: (reading, { isFirst }) => saveConfigBeforeEdit(reading, { config, isFirst }, dependencies),
    write: async (planned, reading, { idle, judged, version }) => {
      const restored: AppliedConfig | undefined =
        judged.written === undefined ? undefined : { result: judged.written, again: false };
      const applied =
        idle === undefined && reading.ok
          ? await applyConfig(planned, reading, { config, version, limitBytes }, dependencies)
          : restored;
      await compareConfig(planned, reading, { applied, idle, version }, config, dependencies);
      return applied;
    },
  };
}

/** Removes temporary files left by a sidecar that was killed during a write. */
async function tidyConfig({
  place,
  versions,
  log,
}: Readonly<{
  place: Pick<NodeLocation, "layout" | "lock" | "fileDeadline">;
  versions: ConfigVersions;
  log: Logger;
}>): Promise<void> {
  const { configPath } = place.layout();
  const locked = await place.fileDeadline.call(`checking ${dirname(configPath)}`, place.lock().acquireOnceReached);
  if (!locked.ok) return;
  try {
    await versions.tidy();
    await tidyAroundConfig(configPath);
  } catch (error) {
    log.warn({ event: "config-cleanup-failed", err: error }, "temporary files of an earlier run could not be removed");
  }
}
