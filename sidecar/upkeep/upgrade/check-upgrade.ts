import { basename } from "node:path";
import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { hasRoomFor } from "#daemon/files/disk-space.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { lintConfig } from "#node/lint/lint-config.ts";
import { formatFinding, isRefusing, listNewFindings } from "#node/lint/new-findings.ts";
import type { NodeLayout } from "#node/layout.ts";
import {
  compareProgram,
  nameProgram,
  parseNodeVersion,
  type NodeVersion,
  type ProgramIdentity,
} from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigReading } from "../config/config-file.ts";
import type { ConfigVersions } from "../config/config-versions.ts";
import { planWithEarlierValues } from "../config/healthy-config.ts";
import type { NodeLocation } from "../config/node-place.ts";
import { findWrite } from "../plan/plan.ts";
import type { ReleaseFile, UpgradeRecord, UpgradeStore } from "../state/upgrade-record.ts";
import type { VersionResolution } from "../version/version-resolution.ts";
import { readNodeBefore, findNodeWarnings, findObstacles, type CheckNodeDependencies } from "./check-node.ts";
import { readRelease, findVersionProblems, type UpgradeRequest } from "./check-release.ts";
import { findOtherFile } from "./program-files.ts";
import { createFirstStage, formatWorkId, type Progress } from "../../upgrade/next-stage.ts";
import { measureCopy, findStores, type CopyCost, type FoundStores } from "./data/data-stores.ts";
import { showsChanges } from "./data/changed-files.ts";
import { explainNoRsync } from "./data/rsync.ts";
import { mayClone, planUpgrade, type UpgradePlan } from "./upgrade-plan.ts";

/** Findings of the check, and the upgrade's initial record; there is no record if there are problems. */
export type UpgradeCheck = Readonly<{ plan: UpgradePlan; record: UpgradeRecord | undefined }>;

export type CheckUpgradeDependencies = CheckNodeDependencies &
  Readonly<{
    place: Pick<NodeLocation, "layout" | "read">;
    observer: Readonly<{ version: () => VersionResolution }>;
    versions: Pick<ConfigVersions, "recall">;
    clock: Clock;
    log: Logger;
  }>;

/** Time limit for measuring the data or a snapshot, while the operator waits. */
export const measureWithinMs = 60_000;

/**
 * Checks whether the node could be upgraded now, and plans the upgrade. Changes nothing.
 *
 * @param isPreCopied whether the upgrade is already in progress and the node's data has been copied; the next step is to stop the node.
 */
export async function checkUpgrade(
  request: UpgradeRequest,
  dependencies: CheckUpgradeDependencies,
  { isPreCopied }: Readonly<{ isPreCopied: boolean }> = { isPreCopied: false },
): Promise<UpgradeCheck> {
  const { place, settings, observer, signal } = dependencies;
  const { source } = request;
  const { version, commit } = observer.version();
  const from = { version, commit };
  const layout = place.layout();
  const release = await readRelease(request, { ...dependencies, layout });
  const { files, to } = typeof release === "string" ? { files: [], to: undefined } : release;
  const config = await checkConfig(await place.read(), { from: version, to: to?.version }, dependencies);
  const work = `to-${to?.version?.release ?? to?.commit ?? "unknown"}`;
  const found = config.document && (await findWorkStores(config.document, work, source, dependencies));
  const stores = found?.ok === true ? found.stores : [];
  const measured = isPreCopied ? [] : stores;
  const costs = await Promise.all(measured.map((store) => measureCopy(store, { timeoutMs: measureWithinMs, signal })));
  const isCopiedFirst = settings.upgrade.snapshot === "rsync";
  const noRsync = isCopiedFirst ? await explainNoRsync(signal) : undefined;
  const before = await readNodeBefore(dependencies);
  const problems = [
    ...findObstacles(dependencies, { isPreCopied }),
    ...(typeof release === "string" ? [release] : []),
    ...(await findProgramProblems(from, typeof release === "string" ? undefined : release, layout)),
    ...config.problems,
    ...(found?.ok === false ? [found.problem] : []),
    ...(noRsync === undefined ? [] : [noRsync]),
    ...findRoomProblems(measured, costs, settings.upgrade.snapshot),
    ...(before === undefined ? [noAnswer] : []),
  ];
  const doubts = isCopiedFirst ? await findDoubts(stores) : [];
  const ofNode = await findNodeWarnings(before, dependencies);
  const ofPrograms = to === undefined ? [] : [...findProgramWarnings(to, files, layout, settings.node)];
  const warnings = [...config.warnings, ...ofPrograms, ...ofNode, ...doubts];
  const { write } = config;
  const [nameFrom, nameTo] = [from, to].map((each) => each && nameProgram(each));
  const shown = planUpgrade({
    source,
    from: nameFrom,
    to: nameTo,
    files,
    stores,
    costs,
    write,
    problems,
    warnings,
    settings,
  });
  if (
    problems.length > 0 ||
    nameFrom === undefined ||
    nameTo === undefined ||
    before === undefined ||
    found?.ok !== true
  ) {
    return { plan: shown, record: undefined };
  }
  const versions = { from: nameFrom, to: nameTo, commits: { from: commit, to: to?.commit } };
  const preCopy = isCopiedFirst ? { request, digest: shown.digest } : undefined;
  const checked = { ...versions, source, files, directory: found.directory, stores, before, preCopy };
  const record = createRecord(checked, dependencies);
  return { plan: shown, record };
}

/** Findings of a check that are copied into the record. */
type CheckedWork = Omit<
  UpgradeRecord,
  keyof Progress<never> | "binDirectory" | "configPath" | "method" | "keepsCopy" | "isWithdrawn" | "waitsForBudget"
>;

/** Creates the record of an upgrade or a restore before its first step. */
export function createRecord(
  work: CheckedWork,
  { place, settings, clock }: Pick<CheckUpgradeDependencies, "place" | "settings" | "clock">,
): UpgradeRecord {
  const { binDirectory, configPath } = place.layout();
  return {
    ...work,
    binDirectory,
    configPath,
    method: settings.upgrade.snapshot,
    keepsCopy: settings.upgrade.keepSnapshot,
    ...createFirstStage(clock.wallMs()),
    ...(work.preCopy === undefined ? {} : { stage: "pre-copying" }),
  };
}

const noAnswer = "the node does not answer: only if it runs well now can it be judged worse afterwards";

/** Plans the change to node.conf, and finds its problems and warnings. */
async function checkConfig(
  reading: ConfigReading,
  { from, to }: Readonly<Record<"from" | "to", NodeVersion | undefined>>,
  dependencies: Pick<CheckUpgradeDependencies, "settings" | "place" | "versions" | "state" | "log">,
) {
  const { settings, place } = dependencies;
  const { pathsDirectory } = place.layout();
  const document = reading.ok ? reading.document : undefined;
  const common = { document };
  if (!reading.ok) return { ...common, write: undefined, problems: [reading.problem.message], warnings: [] };
  if (to === undefined) return { ...common, write: undefined, problems: [], warnings: [] };
  const planned = await planWithEarlierValues({ document, version: to }, settings, pathsDirectory, dependencies);
  const write = findWrite(planned);
  const findings = lintConfig(write === undefined ? reading.bytes : Buffer.from(write.text), to);
  const against = listNewFindings(findings, lintConfig(reading.bytes, from)).filter(isRefusing);
  const problems = [...planned.problems.map(({ message }) => message), ...against.map(formatFinding)];
  const warnings = findings.filter((finding) => !against.includes(finding)).map(formatFinding);
  return { ...common, write, problems, warnings };
}

/** Finds the directories that hold a node's data, and returns the adjacent work directories for one upgrade or restore. */
export function findWorkStores(
  document: ConfigDocument,
  work: string,
  source: string,
  { place, state, clock, signal }: Pick<CheckUpgradeDependencies, "place" | "state" | "clock" | "signal">,
): Promise<FoundStores> {
  const { configPath, pathsDirectory, binDirectory } = place.layout();
  const id = `${formatWorkId(clock.wallMs())}-${work}`;
  const others = [binDirectory, state.directory, source];
  return findStores(document, { configPath, pathsDirectory, id, others }, { timeoutMs: measureWithinMs, signal });
}

/** Determines why the new programs can't replace the old ones: if neither version nor commit distinguishes them, their content must. */
async function findProgramProblems(
  from: ProgramIdentity,
  release: Readonly<{ files: readonly ReleaseFile[]; to: ProgramIdentity }> | undefined,
  { binDirectory }: Pick<NodeLayout, "binDirectory">,
): Promise<readonly string[]> {
  const problems = findVersionProblems(from, release?.to);
  if (problems.length > 0 || release === undefined || compareProgram(from, release.to) === "other") return problems;
  if ((await findOtherFile(release.files, binDirectory)) !== undefined) return [];
  return [`${binDirectory} has these programs already, each with the same SHA-256`];
}

/**
 * Finds what an upgrade leaves outdated: the version setting, although a version reported by the node or its programs takes precedence over
 * it, and the fork schedule.
 */
function* findProgramWarnings(
  to: ProgramIdentity,
  files: readonly ReleaseFile[],
  { family: { forksPath }, binDirectory }: Pick<NodeLayout, "family" | "binDirectory">,
  { version: fixed }: Pick<SidecarSettings["node"], "version">,
): Generator<string> {
  const name = nameProgram(to);
  if (fixed !== undefined && parseNodeVersion(fixed)?.release !== to.version?.release) {
    yield `node.version is fixed to ${fixed}; once ${name} runs, set GATEHOUSE_SIDECAR_NODE_VERSION to ${to.version?.text ?? "its release"}, or remove it`;
  }
  if (forksPath === undefined || files.some((file) => file.name === basename(forksPath))) return;
  yield `the release has no ${basename(forksPath)}, so the one in ${binDirectory} stays; get the one for ${name} before its fork`;
}

/** Finds warnings for the operator before data is copied while the node is running. */
async function findDoubts(stores: readonly UpgradeStore[]): Promise<readonly string[]> {
  const doubts = stores.map(async ({ path }) =>
    (await showsChanges(path))
      ? undefined
      : `the file system of ${path} does not show for sure which files have changed: while the node stands still, all its data are read again and compared`,
  );
  return (await Promise.all(doubts)).filter((doubt) => doubt !== undefined);
}

function* findRoomProblems(
  stores: readonly UpgradeStore[],
  costs: readonly (CopyCost | undefined)[],
  method: SidecarSettings["upgrade"]["snapshot"],
): Generator<string> {
  for (const [index, { path }] of stores.entries()) {
    const cost = costs[index];
    if (cost === undefined) yield `${path} can't be measured within ${measureWithinMs} ms`;
    else if (method === "reflink" && !cost.isCloned)
      yield `the file system of ${path} does not clone files (upgrade.snapshot is reflink)`;
    else if (!(cost.isCloned && mayClone(method)) && !hasRoomFor(cost)) {
      yield `a copy of ${path} takes ${cost.bytes} bytes, and ${cost.freeBytes} are free there`;
    }
  }
}
