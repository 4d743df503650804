import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log.ts";
import { contentHashOf } from "./config-file.ts";
import type { ConfigVersions } from "./config-versions.ts";
import type { HealthyProof, UpkeepState } from "../state/upkeep-state.ts";

/** What is remembered as healthy; undefined where nothing is, or it can't be read. */
export async function loadHealthyConfig({
  versions,
  log,
}: Readonly<{ versions: ConfigVersions; log: Logger }>): Promise<Uint8Array | undefined> {
  try {
    return await versions.recall("healthy");
  } catch (error) {
    log.warn({ err: error }, "the healthy configuration can't be read; look at upkeep.stateDirectory");
    return undefined;
  }
}

/** Keeps what the node runs well with, for a roll-back, and tells whether that worked. */
export async function saveHealthyConfig(
  bytes: Uint8Array,
  proof: HealthyProof,
  {
    versions,
    state,
    clock,
    log,
  }: Readonly<{ versions: ConfigVersions; state: Pick<UpkeepState, "healthy">; clock: Clock; log: Logger }>,
): Promise<boolean> {
  try {
    // First what it is: a kill in between leaves a copy that is not the one that is told of, and so counts for less, never for more.
    state.healthy.set({ hash: contentHashOf(bytes), proof, atMs: clock.wallMs() });
    await versions.remember("healthy", bytes);
    return true;
  } catch (error) {
    log.error({ err: error }, "the healthy configuration could not be kept; look at upkeep.stateDirectory");
    return false;
  }
}
