import { basename, dirname, join } from "node:path";
import { mkdir } from "node:fs/promises";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { entryExists } from "#daemon/files/entry-exists.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { EventLog } from "#status/event-log.ts";
import { formatChange } from "#node/conf/describe-change.ts";
import { encodeConfig } from "#node/conf/document.ts";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { parseNodeVersion } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import { readConfigWithDeadline, type ConfigReading } from "../config/config-file.ts";
import type { ConfigVersions } from "../config/config-versions.ts";
import { planWithEarlierValues, saveHealthyConfig } from "../config/healthy-config.ts";
import type { NodeLocation } from "../config/node-location.ts";
import { replaceConfig, type DescribedChange } from "../config/config-writer.ts";
import { findWrite } from "../plan/plan.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { UpgradeError } from "../../upgrade/progress.ts";

export type ConfigStepDependencies = Readonly<{
  settings: SidecarSettings;
  place: Pick<NodeLocation, "fileDeadline" | "layout" | "lock">;
  versions: ConfigVersions;
  events: Pick<EventLog, "add" | "begin" | "fail">;
  state: Pick<UpkeepState, "auditedConfig" | "nodeValues">;
  log: Pick<Logger, "warn">;
}>;

function locateKeptConfig({ directory }: UpgradeRecord): string {
  return join(directory, "node.conf");
}

function readConfig(path: string, { settings, place }: ConfigStepDependencies): Promise<ConfigReading> {
  return readConfigWithDeadline(path, settings.upkeep.configLimitBytes, place.fileDeadline);
}

/** @throws {UpgradeError} if the file can't be read, or is not a usable node.conf. */
async function requireConfig(path: string, dependencies: ConfigStepDependencies) {
  const reading = await readConfig(path, dependencies);
  if (!reading.ok) throw new UpgradeError(reading.problem.message);
  return reading;
}

export async function keepConfig(record: UpgradeRecord, dependencies: ConfigStepDependencies): Promise<void> {
  const kept = locateKeptConfig(record);
  if (await entryExists(kept)) return;
  const reading = await requireConfig(record.configPath, dependencies);
  await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
  await replaceFile(kept, reading.bytes);
}

/** Migrates node.conf to the new version's keys, as the upkeep would once the node responds, so that the version is verified with its final node.conf. */
export async function migrateConfig(record: UpgradeRecord, dependencies: ConfigStepDependencies): Promise<void> {
  const { settings, place } = dependencies;
  const reading = await requireConfig(record.configPath, dependencies);
  const version = parseNodeVersion(record.to);
  // The version is known only by its commit, so the keys that it reads are unknown, and the current keys stay.
  if (version === undefined) return;
  const observed = { document: reading.document, version };
  const planned = await planWithEarlierValues(observed, settings, place.layout().pathsDirectory, dependencies);
  const [problem] = planned.problems;
  if (problem !== undefined) throw new UpgradeError(problem.message);
  const write = findWrite(planned);
  if (write === undefined) return;
  const changes = write.changes.map((change) => ({
    message: `${basename(record.configPath)}: ${formatChange(change)}.`,
    why: `the upgrade from ${record.from} to ${record.to}`,
  }));
  await replace(reading, encodeConfig(reading.document, write.text), changes, record, dependencies);
}

/** Restores the old node.conf. Does nothing if none was saved, or if it is already restored. */
export async function restoreConfig(record: UpgradeRecord, dependencies: ConfigStepDependencies): Promise<void> {
  const kept = locateKeptConfig(record);
  if (!(await entryExists(kept))) return;
  const before = await requireConfig(kept, dependencies);
  const now = await readConfig(record.configPath, dependencies);
  if (now.contentHash === before.contentHash) return;
  const message = `${basename(record.configPath)}: restored as it was before.`;
  await replace(now, before.bytes, [{ message, why: record.failure }], record, dependencies);
}

async function replace(
  now: ConfigReading,
  content: Uint8Array,
  changes: readonly DescribedChange[],
  { configPath }: UpgradeRecord,
  dependencies: ConfigStepDependencies,
): Promise<void> {
  const written = await replaceConfig(now, content, changes, dependencies, configPath);
  if (!written.ok) throw new UpgradeError(written.message);
}

/** Retains the node.conf with which the verified version was started, for a rollback. */
export async function retainRunningConfig(
  dependencies: Parameters<typeof saveHealthyConfig>[2] &
    Readonly<{ place: Pick<NodeLocation, "read" | "layout">; state: UpkeepState }>,
): Promise<void> {
  const { place, state } = dependencies;
  const reading = await place.read();
  if (!reading.ok || state.nodeHas.get() !== fingerprintConfig(reading.document)) return;
  state.atomically(() => {
    state.startedWith.set(fingerprintConfig(reading.document));
    state.nodeValues.set(readNodeValues(reading.document, place.layout().pathsDirectory));
  });
  await saveHealthyConfig(reading.bytes, "advanced", dependencies);
}
