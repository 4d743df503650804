import { dirname } from "node:path";
import type { NodeVersion } from "#node/versions.ts";
import type { Authority } from "../adoption/authority.ts";
import type { Plan } from "../plan/plan.ts";
import { applyConfig, compareConfig, type AppliedConfig } from "./apply-config.ts";
import { checkConfig, type ConfigCheck, type Judgement } from "./check-config.ts";
import type { ConfigContext } from "./config-context.ts";
import type { ConfigReading } from "./config-file.ts";
import { removeStaleConfigFiles } from "./config-writer.ts";
import { saveConfigBeforeEdit } from "./healthy-config.ts";

/** Context of a write. `idle`: reason why nothing may be written. */
type ConfigWrite = Readonly<{ idle: string | undefined; judged: Judgement; version: NodeVersion | undefined }>;

/** Creates the reconcile steps for node.conf. */
export function createConfigStep(context: ConfigContext) {
  const { config, place, state } = context;
  return {
    path: () => place.layout().configPath,
    read: async (): Promise<ConfigCheck> => {
      const auditedThen = state.auditedConfig.get();
      return { reading: await place.read(), auditedThen };
    },
    /** Renews the watch after a change without an event: in that case it watches a removed path, e.g. a deleted directory. */
    renewWatch: async ({ contentHash }: ConfigReading, { isFirst }: Readonly<{ isFirst: boolean }>) => {
      const isEvent = place.watch.takeEvent();
      if (!isFirst && !isEvent && contentHash !== config.now().contentHash)
        await place.watch.renew(place.layout().configPath);
    },
    /** Determines whether node.conf is usable. */
    judge: (check: ConfigCheck, authority: Authority) => checkConfig(check, authority, context),
    tidy: () => tidyConfig(context),
    /** Saves the content that node.conf had before it was changed externally. */
    keepBefore: (reading: ConfigReading, found: Readonly<{ isFirst: boolean }>) =>
      saveConfigBeforeEdit(reading, found, context),
    /** Writes node.conf as planned if allowed, and records its new state. */
    write: async (planned: Plan, reading: ConfigReading, { idle, judged, version }: ConfigWrite) => {
      const restored: AppliedConfig | undefined = judged.written && { result: judged.written, again: false };
      const mayWrite = idle === undefined && reading.ok;
      const applied = mayWrite ? await applyConfig(planned, reading, version, context) : restored;
      await compareConfig(planned, reading, { applied, idle, version }, context);
      return applied;
    },
  };
}

/** Removes temporary files left by a sidecar that was killed during a write. */
async function tidyConfig({ place, versions, log }: ConfigContext): Promise<void> {
  const { configPath } = place.layout();
  const locked = await place.fileDeadline.call(`checking ${dirname(configPath)}`, place.lock().acquireOnceReached);
  if (!locked.ok) return;
  try {
    await versions.tidy();
    await removeStaleConfigFiles(configPath);
  } catch (error) {
    log.warn({ event: "config-cleanup-failed", err: error }, "temporary files of an earlier run could not be removed");
  }
}
