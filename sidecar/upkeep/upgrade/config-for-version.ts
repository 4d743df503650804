import { basename, dirname, join } from "node:path";
import { mkdir } from "node:fs/promises";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { isThere } from "#daemon/files/is-there.ts";
import type { EventLog } from "#status/event-log.ts";
import type { FileDeadline } from "#daemon/files/file-deadline.ts";
import { formatChange } from "#node/conf/describe-change.ts";
import { parseNodeVersion } from "#node/versions.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { readConfigWithDeadline, writeWithDeadline, type DescribedChange } from "../config/with-deadline.ts";
import type { ConfigVersions } from "../config/config-versions.ts";
import type { WriterLock } from "../config/writer-lock.ts";
import { findWrite, type Observed, type Plan } from "../plan/plan.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { UpgradeError } from "../../upgrade/progress.ts";

export type ConfigStepDependencies = Readonly<{
  plan: (observed: Pick<Observed, "document" | "version">) => Promise<Plan>;
  limitBytes: number;
  fileDeadline: FileDeadline;
  lock: () => WriterLock;
  versions: ConfigVersions;
  events: Pick<EventLog, "add" | "begin" | "fail">;
  state: Pick<UpkeepState, "auditedConfig">;
}>;

function locateKeptConfig({ directory }: UpgradeRecord): string {
  return join(directory, "node.conf");
}

/** @throws {UpgradeError} if the file can't be read, or is not a usable node.conf. */
async function requireConfig(path: string, { limitBytes, fileDeadline }: ConfigStepDependencies) {
  const reading = await readConfigWithDeadline(path, limitBytes, fileDeadline);
  if (!reading.ok) throw new UpgradeError(reading.problem.message);
  return reading;
}

/** Saves a copy of node.conf before any change. */
export async function keepConfig(record: UpgradeRecord, dependencies: ConfigStepDependencies): Promise<void> {
  const kept = locateKeptConfig(record);
  if (await isThere(kept)) return;
  const reading = await requireConfig(record.configPath, dependencies);
  await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
  await replaceFile(kept, reading.bytes);
}

/** Migrates node.conf to the new version's keys, as the upkeep would once the node responds, so that the version is verified with its final node.conf. */
export async function migrateConfig(record: UpgradeRecord, dependencies: ConfigStepDependencies): Promise<void> {
  const reading = await requireConfig(record.configPath, dependencies);
  const version = parseNodeVersion(record.to);
  // The version is known only by its commit, so the keys that it reads are unknown, and the current keys stay.
  if (version === undefined) return;
  const planned = await dependencies.plan({ document: reading.document, version });
  const [problem] = planned.problems;
  if (problem !== undefined) throw new UpgradeError(problem.message);
  const write = findWrite(planned);
  if (write === undefined) return;
  const changes = write.changes.map((change) => ({
    message: `${basename(record.configPath)}: ${formatChange(change)}.`,
    why: `the upgrade from ${record.from} to ${record.to}`,
  }));
  await writeOver(record.configPath, reading, { content: Buffer.from(write.text), changes }, dependencies);
}

/** Restores the old node.conf. Does nothing if none was saved, or if it is already restored. */
export async function restoreConfig(record: UpgradeRecord, dependencies: ConfigStepDependencies): Promise<void> {
  const { limitBytes, fileDeadline } = dependencies;
  const kept = locateKeptConfig(record);
  if (!(await isThere(kept))) return;
  const before = await requireConfig(kept, dependencies);
  const now = await readConfigWithDeadline(record.configPath, limitBytes, fileDeadline);
  if (now.contentHash === before.contentHash) return;
  const message = `${basename(record.configPath)}: restored as it was before.`;
  const changes = [{ message, why: record.failure }];
  await writeOver(record.configPath, now, { content: before.bytes, changes }, dependencies);
}

/** Writes node.conf if it hasn't changed since it was read. */
async function writeOver(
  path: string,
  now: ConfigReading,
  made: Readonly<{ content: Uint8Array; changes: readonly DescribedChange[] }>,
  dependencies: ConfigStepDependencies,
): Promise<void> {
  const { limitBytes, lock } = dependencies;
  const expected = { expectedHash: now.contentHash, expectedProblem: now.ok ? undefined : now.problem.reason };
  const written = await writeWithDeadline(
    { path, limitBytes, ...expected, ...made },
    { ...dependencies, lock: lock() },
  );
  if (!written.ok) throw new UpgradeError(written.message);
}
