import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { UpgradeStore } from "../state/upgrade-record.ts";
import { isAnswering } from "#health/node-health.ts";
import { findObstacles } from "./check-node.ts";
import {
  createRecord,
  findWorkStores,
  measureWithinMs,
  type CheckUpgradeDependencies,
  type UpgradeCheck,
} from "./check-upgrade.ts";
import { identifyNode } from "./prove-version.ts";
import { isThere } from "./data/data-copy.ts";
import { findNoRoom, findSnapshot } from "./data/snapshot-source.ts";
import type { UpgradePlan } from "./upgrade-plan.ts";

/** Checks whether the node's data could be restored from a snapshot now, and plans the restore. Changes nothing. */
export async function checkRestore(
  requested: string | undefined,
  dependencies: CheckUpgradeDependencies,
): Promise<UpgradeCheck> {
  const { place, settings, observer, state, signal, health, holders, commits } = dependencies;
  const { version: known, commit } = observer.version();
  const version = known?.text ?? commit;
  const reading = await place.read();
  const found = reading.ok
    ? await findWorkStores(reading.document, "restore", requested ?? place.layout().binDirectory, dependencies)
    : ({ ok: false, problem: reading.problem.message } as const);
  const { snapshotDirectory } = place.layout().family;
  const part = requested !== undefined && (await isFile(requested)) ? snapshotDirectory : undefined;
  const stores = found.ok ? found.stores.map((store) => asRestored(store, part)) : [];
  const last = state.upgrade.get();
  const snapshot = found.ok ? await findSnapshot(requested, stores, last) : undefined;
  const sources = snapshot?.ok === true ? snapshot.sources : [];
  const mayClone = settings.upgrade.snapshot !== "copy";
  const room = { timeoutMs: measureWithinMs, signal, mayClone };
  const noRoom = sources.length === 0 ? [] : await findNoRoom(sources, stores, room);
  const process = (await holders.now())[0] ?? state.dataEvidence.get()?.mark?.process;
  const problems = [
    ...findObstacles(dependencies, { isRestore: true }),
    ...(version === undefined ? ["the node's version is not known (VersionConsistent says what to set)"] : []),
    ...(found.ok ? [] : [found.problem]),
    ...(await findPartProblems(stores, part)),
    ...(snapshot?.ok === false ? [snapshot.problem] : []),
    ...noRoom,
  ];
  const isUp = isAnswering(health.facts());
  const warnings = isUp ? ["the node answers: older data replace its own, and it fetches the later blocks again"] : [];
  const plan = buildRestorePlan({
    version,
    stores,
    sources,
    problems,
    warnings,
    keepsData: settings.upgrade.keepSnapshot,
  });
  if (problems.length > 0 || version === undefined || !found.ok) return { plan, record: undefined };
  // A snapshot's content isn't known in advance, so any block produced on top of it verifies it.
  const before = {
    height: 0,
    autoPrune: false,
    tellsVersion: identifyNode(health.current(), settings.node.clientName, commits()) !== undefined,
    process,
  };
  const versions = { from: version, to: version, commits: { from: commit, to: commit } };
  const origin = { source: sources[0] ?? "", restoredFrom: sources, files: [] };
  const record = createRecord({ ...versions, ...origin, directory: found.directory, stores, before }, dependencies);
  return { plan, record };
}

/** Returns the store that a restore replaces: the part of its data that a published archive includes, or all of it. */
function asRestored(store: UpgradeStore, part: string | undefined): UpgradeStore {
  const path = part === undefined ? store.path : join(store.path, part);
  return { ...store, path, aside: `${store.copy}-of-before` };
}

async function findPartProblems(stores: readonly UpgradeStore[], part: string | undefined): Promise<readonly string[]> {
  if (part === undefined) return [];
  const found = await Promise.all(stores.map(async ({ path }) => ((await isThere(path)) ? undefined : path)));
  return found
    .filter((path) => path !== undefined)
    .map((path) => `${path}, which the archive replaces, is not there: start the node once, so that genesis makes it`);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function buildRestorePlan({
  version = "of an unknown version",
  stores,
  sources,
  problems,
  warnings,
  keepsData,
}: Readonly<{
  version: string | undefined;
  stores: readonly UpgradeStore[];
  sources: readonly string[];
  problems: readonly string[];
  warnings: readonly string[];
  keepsData: boolean;
}>): UpgradePlan {
  const pairs = stores.map(({ path }, index) => `${sources[index]} next to ${path}`).join(" and ");
  const paths = stores.map(({ path }) => path).join(" and ");
  const steps = [
    `Stop the node (${version}).`,
    `Copy ${pairs}. The snapshot itself is left as it is.`,
    `Put ${paths} aside by renaming, and the copy in its place.`,
    "Start the node, and wait for proof: it answers, reports its version, and makes blocks.",
    keepsData
      ? "Once it is proved, the old data stay (upgrade.keepSnapshot)."
      : "Once it is proved, remove the old data (upgrade.keepSnapshot is false).",
    "If anything fails before: put the old data back, start the node with them, and set a hold.",
  ];
  const digest = hash("sha256", JSON.stringify([version, sources, paths, keepsData])).slice(0, 16);
  return { from: version, to: version, steps: problems.length > 0 ? [] : steps, problems, warnings, digest };
}
