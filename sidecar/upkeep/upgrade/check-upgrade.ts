import type { Clock } from "#daemon/clock.ts";
import { hasRoomFor } from "#daemon/files/disk-space.ts";
import { findDataPath } from "#node/conf/data-path.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { lintConfig } from "#node/lint/lint-config.ts";
import { formatFinding, isRefusing, listNewFindings } from "#node/lint/new-findings.ts";
import { parseNodeVersion, type NodeVersion } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigReading } from "../config/config-file.ts";
import type { NodePlace } from "../config/node-place.ts";
import { createDesiredState } from "../plan/desired-state.ts";
import { plan, findWrite } from "../plan/plan.ts";
import type { UpgradeRecord, UpgradeStore } from "../state/upgrade-record.ts";
import type { VersionResolution } from "../version/version-resolution.ts";
import { readNodeBefore, findNodeWarnings, findObstacles, type CheckNodeDependencies } from "./check-node.ts";
import { readRelease, findVersionProblems, type UpgradeRequest } from "./check-release.ts";
import { createFirstStage, formatWorkId } from "./first-stage.ts";
import { measureCopy, findStores, type CopyCost, type FoundStores } from "./data/data-stores.ts";
import { showsChanges } from "./data/changed-files.ts";
import { explainNoRsync } from "./data/rsync.ts";
import { mayClone, planUpgrade, type UpgradePlan } from "./upgrade-plan.ts";

/** Findings of the check, and the record with which the upgrade begins; no record if there are problems. */
export type UpgradeCheck = Readonly<{ plan: UpgradePlan; record: UpgradeRecord | undefined }>;

export type CheckUpgradeDependencies = CheckNodeDependencies &
  Readonly<{
    place: Pick<NodePlace, "layout" | "read">;
    observer: Readonly<{ version: () => VersionResolution }>;
    clock: Clock;
  }>;

/** Time that measuring the data or a snapshot may take, while a person waits. */
export const measureWithinMs = 60_000;

/**
 * Checks whether the node could be upgraded now, and plans the upgrade. Changes nothing.
 *
 * @param isPreCopied whether it is already under way, and the node's data are copied: the next step is to stop the node.
 */
export async function checkUpgrade(
  request: UpgradeRequest,
  dependencies: CheckUpgradeDependencies,
  { isPreCopied }: Readonly<{ isPreCopied: boolean }> = { isPreCopied: false },
): Promise<UpgradeCheck> {
  const { place, settings, observer, signal } = dependencies;
  const { source } = request;
  const from = observer.version().version;
  const release = await readRelease(request, { ...dependencies, layout: place.layout() });
  const { files, to } = typeof release === "string" ? { files: [], to: undefined } : release;
  const config = checkConfig(await place.read(), { from, to }, dependencies);
  const found =
    config.document && (await findWorkStores(config.document, `to-${to?.release ?? "unknown"}`, source, dependencies));
  const stores = found?.ok === true ? found.stores : [];
  const measured = isPreCopied ? [] : stores;
  const costs = await Promise.all(measured.map((store) => measureCopy(store, { timeoutMs: measureWithinMs, signal })));
  const isCopiedFirst = settings.upgrade.snapshot === "rsync";
  const noRsync = isCopiedFirst ? await explainNoRsync(signal) : undefined;
  const before = await readNodeBefore(dependencies);
  const problems = [
    ...findObstacles(dependencies, { isPreCopied }),
    ...(typeof release === "string" ? [release] : []),
    ...findVersionProblems(from, to),
    ...config.problems,
    ...(found?.ok === false ? [found.problem] : []),
    ...(noRsync === undefined ? [] : [noRsync]),
    ...findRoomProblems(measured, costs, settings.upgrade.snapshot),
    ...(before === undefined ? [noAnswer] : []),
  ];
  const doubts = isCopiedFirst ? await findDoubts(stores, settings) : [];
  const ofNode = await findNodeWarnings(before, dependencies);
  const warnings = [...config.warnings, ...findFixedVersion(to, settings.node), ...ofNode, ...doubts];
  const { write } = config;
  const shown = planUpgrade({ source, from, to, files, stores, costs, write, problems, warnings, settings });
  if (problems.length > 0 || from === undefined || to === undefined || before === undefined || found?.ok !== true) {
    return { plan: shown, record: undefined };
  }
  const versions = { from: from.text, to: to.text };
  const preCopy = isCopiedFirst ? { request, digest: shown.digest } : undefined;
  const work = { ...versions, source, files, directory: found.directory, stores, before, preCopy };
  const record = createRecord(work, dependencies);
  return { plan: shown, record };
}

/** Findings of a check that the record takes over. */
type CheckedWork = Pick<
  UpgradeRecord,
  "from" | "to" | "source" | "restoredFrom" | "foundCorrupt" | "preCopy" | "files" | "directory" | "stores" | "before"
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
    // Data that were replaced without a person's word are never removed without one.
    keepsCopy: settings.upgrade.keepSnapshot || work.foundCorrupt !== undefined,
    ...createFirstStage(clock.wallMs()),
    ...(work.preCopy === undefined ? {} : { stage: "pre-copying" }),
  };
}

const noAnswer = "the node does not answer: only if it runs well now can it be judged worse afterwards";

/** Plans the change of node.conf, and finds its problems and warnings. Pure. */
function checkConfig(
  reading: ConfigReading,
  { from, to }: Readonly<Record<"from" | "to", NodeVersion | undefined>>,
  { settings, place }: Readonly<{ settings: SidecarSettings; place: Pick<NodePlace, "layout"> }>,
) {
  const document = reading.ok ? reading.document : undefined;
  const desired = createDesiredState(
    settings,
    findDataPath(settings.node.dataPath, place.layout().pathsDirectory, document?.value),
  );
  const common = { document };
  if (!reading.ok) return { ...common, write: undefined, problems: [reading.problem.message], warnings: [] };
  if (to === undefined) return { ...common, write: undefined, problems: [], warnings: [] };
  const planned = plan({ document, version: to }, desired);
  const write = findWrite(planned);
  const findings = lintConfig(write === undefined ? reading.bytes : Buffer.from(write.text), to);
  const against = listNewFindings(findings, lintConfig(reading.bytes, from)).filter(isRefusing);
  const problems = [...planned.problems.map(({ message }) => message), ...against.map(formatFinding)];
  const warnings = findings.filter((finding) => !against.includes(finding)).map(formatFinding);
  return { ...common, write, problems, warnings };
}

/** Finds the directories of a node's data, and names the work directories next to them for one upgrade or restore. */
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

/** Finds a setting that an upgrade leaves behind. What the node or its programs report counts before it, but not all nodes report a version. */
function* findFixedVersion(
  to: NodeVersion | undefined,
  { version }: Pick<SidecarSettings["node"], "version">,
): Generator<string> {
  if (version === undefined || to === undefined || parseNodeVersion(version)?.release === to.release) return;
  yield `node.version is fixed to ${version}; once ${to.text} runs, set GATEHOUSE_SIDECAR_NODE_VERSION to ${to.text}, or remove it`;
}

/** Finds what a person should know before data are copied while the node runs. */
async function findDoubts(
  stores: readonly UpgradeStore[],
  { upgrade }: Pick<SidecarSettings, "upgrade">,
): Promise<readonly string[]> {
  const doubts = stores.map(async ({ path }) =>
    (await showsChanges(path))
      ? undefined
      : `the file system of ${path} does not show for sure which files have changed: while the node stands still, all its data are read again and compared`,
  );
  const late =
    upgrade.window === undefined
      ? []
      : [
          `the copy begins in upgrade.window (${upgrade.window} UTC), and the node is stopped when it is made, which may be outside of it`,
        ];
  return [...late, ...(await Promise.all(doubts)).filter((doubt) => doubt !== undefined)];
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
