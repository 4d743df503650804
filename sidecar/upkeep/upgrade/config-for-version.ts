import { basename, dirname, join } from "node:path";
import { mkdir } from "node:fs/promises";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { entryExists } from "#daemon/files/entry-exists.ts";
import { formatChange } from "#node/conf/monitor-change.ts";
import { encodeConfig } from "#node/conf/document.ts";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { parseNodeVersion } from "#node/versions.ts";
import { readConfigWithDeadline, type ConfigReading } from "../config/config-file.ts";
import { planWithEarlierValues, saveHealthyConfig } from "../config/healthy-config.ts";
import { replaceConfig, type DescribedChange } from "../config/config-writer.ts";
import { findWrite } from "../plan/plan.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import type { UpgradeContext } from "./upgrade-context.ts";

function locateKeptConfig({ directory }: UpgradeRecord): string {
  return join(directory, "node.conf");
}

function readConfig(path: string, { settings, place }: UpgradeContext): Promise<ConfigReading> {
  return readConfigWithDeadline(path, settings.upkeep.configLimitBytes, place.fileDeadline);
}

/** @throws {UpgradeError} if the file can't be read, or is not a usable node.conf. */
async function requireConfig(path: string, context: UpgradeContext) {
  const reading = await readConfig(path, context);
  if (!reading.ok) throw new UpgradeError(reading.problem.message);
  return reading;
}

export async function keepConfig(record: UpgradeRecord, context: UpgradeContext): Promise<void> {
  const kept = locateKeptConfig(record);
  if (await entryExists(kept)) return;
  const reading = await requireConfig(record.configPath, context);
  await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
  await replaceFile(kept, reading.bytes);
}

/** Migrates node.conf to the new version's keys, as the upkeep would once the node responds, so that the version is verified with its final node.conf. */
export async function migrateConfig(record: UpgradeRecord, context: UpgradeContext): Promise<void> {
  const { settings, place } = context;
  const reading = await requireConfig(record.configPath, context);
  const version = parseNodeVersion(record.to);
  // The version is known only by its commit, so the keys that it reads are unknown, and the current keys are kept.
  if (version === undefined) return;
  const observedConfig = { document: reading.document, version };
  const configPlan = await planWithEarlierValues(observedConfig, settings, place.layout().pathsDirectory, context);
  const [problem] = configPlan.problems;
  if (problem !== undefined) throw new UpgradeError(problem.message);
  const write = findWrite(configPlan);
  if (write === undefined) return;
  const changes = write.changes.map((change) => ({
    message: `${basename(record.configPath)}: ${formatChange(change)}.`,
    why: `the upgrade from ${record.from} to ${record.to}`,
  }));
  await replace(reading, encodeConfig(reading.document, write.text), changes, record, context);
}

/** Restores the old node.conf. Does nothing if none was saved, or if it is already restored. */
export async function restoreConfig(record: UpgradeRecord, context: UpgradeContext): Promise<void> {
  const kept = locateKeptConfig(record);
  if (!(await entryExists(kept))) return;
  const keptConfig = await requireConfig(kept, context);
  const now = await readConfig(record.configPath, context);
  if (now.contentHash === keptConfig.contentHash) return;
  const message = `${basename(record.configPath)}: restored as it was before.`;
  await replace(now, keptConfig.bytes, [{ message, why: record.failure }], record, context);
}

async function replace(
  now: ConfigReading,
  content: Uint8Array,
  changes: readonly DescribedChange[],
  { configPath }: UpgradeRecord,
  context: UpgradeContext,
): Promise<void> {
  const writeResult = await replaceConfig(now, content, changes, context, configPath);
  if (!writeResult.ok) throw new UpgradeError(writeResult.message);
}

/** Retains the node.conf with which the verified version was started, for a rollback. */
export async function retainRunningConfig(context: UpgradeContext): Promise<void> {
  const { place, state } = context;
  const reading = await place.read();
  if (!reading.ok || state.nodeHas.get() !== fingerprintConfig(reading.document)) return;
  state.atomically(() => {
    state.startedWith.set(fingerprintConfig(reading.document));
    state.nodeValues.set(readNodeValues(reading.document, place.layout().pathsDirectory));
  });
  await saveHealthyConfig(reading.bytes, "advanced", context);
}
