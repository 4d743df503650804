import { hash } from "node:crypto";
import { basename } from "node:path";
import { hasSpaceFor } from "#daemon/files/disk-space.ts";
import { describeChange } from "#node/conf/monitor-change.ts";
import { lintConfig } from "#node/lint/lint-config.ts";
import { formatFinding, preventsStart, listNewFindings } from "#node/lint/new-findings.ts";
import type { NodeLayout } from "#node/layout.ts";
import { nameProgram, parseNodeVersion, type NodeVersion, type ProgramIdentity } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { planWithEarlierValues } from "../config/healthy-config.ts";
import { findWrite } from "../plan/plan.ts";
import type { ReleaseFile, UpgradeRecord, UpgradeStore } from "../state/upgrade-record.ts";
import { readNodeBefore, findNodeWarnings, findUpgradeObstacles } from "./check-node.ts";
import { explainNoUpgrade, readRelease } from "./check-release.ts";
import type { RequestedUpgrade, UpgradeRequest } from "./requested-upgrade.ts";
import { clonedSizeText, formatSize } from "../../upgrade/data-size.ts";
import { createFirstStage, formatWorkId, UpgradeError } from "../../upgrade/progress.ts";
import { estimateCopyCost, findStores, type CopyCost } from "./data/data-stores.ts";
import type { UpgradeContext } from "./upgrade-context.ts";

/** Findings of the check, and the upgrade's initial record; there is no record if there are problems. */
export type UpgradeCheck = Readonly<{ plan: RequestedUpgrade["plan"]; record: UpgradeRecord | undefined }>;

/** Time limit for measuring the size of the data, while the operator waits. */
const measureWithinMs = 60_000;

export async function checkUpgrade(request: UpgradeRequest, context: UpgradeContext): Promise<UpgradeCheck> {
  const { place, settings, observer, state, clock, signal } = context;
  const { source } = request;
  const currentVersion = observer.version();
  const layout = place.layout();
  const { binDirectory, configPath } = layout;
  const problems: string[] = [];
  const attempt = async <Found>(finding: Promise<Found>): Promise<Found | undefined> => {
    try {
      return await finding;
    } catch (error) {
      if (!(error instanceof UpgradeError)) throw error;
      problems.push(error.message);
      return undefined;
    }
  };
  const release = await attempt(readRelease(request, context));
  const { to, files = [] } = release ?? {};
  const isUnknown = currentVersion.version === undefined && currentVersion.commit === undefined;
  if (isUnknown) problems.push("the running version is unknown (VersionConsistent explains what to set)");
  const noUpgradeReason =
    isUnknown || release === undefined ? undefined : await explainNoUpgrade(currentVersion, release, binDirectory);
  if (noUpgradeReason !== undefined) problems.push(noUpgradeReason);
  const config = await checkConfig(await place.read(), currentVersion.version, to?.version, context);
  problems.push(...config.problems);
  const nowMs = clock.wallMs();
  const id = `${formatWorkId(nowMs)}-to-${to?.version?.release ?? to?.commit ?? "unknown"}`;
  const limits = { timeoutMs: measureWithinMs, signal };
  const storeOptions = { ...layout, id, others: [binDirectory, state.directory, source] };
  const found = config.document && (await attempt(findStores(config.document, storeOptions, limits)));
  const stores = found?.stores ?? [];
  const costs = await Promise.all(stores.map((store) => estimateCopyCost(store, limits)));
  problems.push(...findRoomProblems(stores, costs));
  const baseline = await readNodeBefore(context);
  if (baseline === undefined)
    problems.push("the node does not respond: a regression can be detected only if it is healthy now");
  problems.unshift(...findUpgradeObstacles(context));
  const warnings = [
    ...config.warnings,
    ...(to === undefined ? [] : findProgramWarnings(to, files, layout, settings.node)),
    ...(await findNodeWarnings(baseline, context)),
  ];
  const from = nameProgram(currentVersion);
  const target = to && nameProgram(to);
  const plan = planUpgrade(
    { source, from, to: target, files, stores, costs, write: config.write, problems, warnings },
    settings,
  );
  if (problems.length > 0 || target === undefined || baseline === undefined || found === undefined) {
    return { plan, record: undefined };
  }
  const commits = { from: currentVersion.commit, to: to?.commit };
  const { directory } = found;
  const confirmed = {
    from,
    to: target,
    commits,
    source,
    files,
    binDirectory,
    configPath,
    directory,
    stores,
    before: baseline,
  };
  return { plan, record: { ...confirmed, keepsCopy: settings.upgrade.keepSnapshot, ...createFirstStage(nowMs) } };
}

async function checkConfig(
  reading: ConfigReading,
  from: NodeVersion | undefined,
  to: NodeVersion | undefined,
  context: UpgradeContext,
) {
  const { settings, place } = context;
  const emptyChange = { document: undefined, write: undefined, problems: [], warnings: [] };
  if (!reading.ok) return { ...emptyChange, problems: [reading.problem.message] };
  const { document } = reading;
  if (to === undefined) return { ...emptyChange, document };
  const { pathsDirectory } = place.layout();
  const configPlan = await planWithEarlierValues({ document, version: to }, settings, pathsDirectory, context);
  const write = findWrite(configPlan);
  const findings = lintConfig(write === undefined ? reading.bytes : Buffer.from(write.text), to);
  const newFindings = listNewFindings(findings, lintConfig(reading.bytes, from)).filter(preventsStart);
  const problems = [...configPlan.problems.map(({ message }) => message), ...newFindings.map(formatFinding)];
  const warnings = findings.filter((finding) => !newFindings.includes(finding)).map(formatFinding);
  return { document, write, problems, warnings };
}

/** Warnings about what the upgrade leaves outdated: the version setting, which a reported version overrides, and the fork schedule. */
function* findProgramWarnings(
  to: ProgramIdentity,
  files: readonly ReleaseFile[],
  { family: { forksPath }, binDirectory }: Pick<NodeLayout, "family" | "binDirectory">,
  { version: fixed }: Pick<SidecarSettings["node"], "version">,
): Generator<string> {
  const name = nameProgram(to);
  if (fixed !== undefined && parseNodeVersion(fixed)?.release !== to.version?.release) {
    yield `node.version is set to ${fixed}; once ${name} runs, set GATEHOUSE_SIDECAR_NODE_VERSION to ${to.version?.text ?? "its release"}, or remove it`;
  }
  if (forksPath === undefined || files.some((file) => file.name === basename(forksPath))) return;
  yield `the release has no ${basename(forksPath)}, so the one in ${binDirectory} stays; install the one for ${name} before its fork`;
}

function* findRoomProblems(
  stores: readonly UpgradeStore[],
  costs: readonly (CopyCost | undefined)[],
): Generator<string> {
  for (const [index, { path }] of stores.entries()) {
    const cost = costs[index];
    if (cost === undefined) yield `${path} could not be measured within ${measureWithinMs} ms`;
    else if (!cost.isCloned && !hasSpaceFor(cost)) {
      yield `a copy of ${path} takes ${cost.bytes} bytes, but ${cost.freeBytes} are free there`;
    }
  }
}

type UpgradePlan = RequestedUpgrade["plan"];

type UpgradeFindings = Pick<UpgradeRecord, "source" | "from" | "files" | "stores"> &
  Pick<UpgradePlan, "problems" | "warnings"> &
  Readonly<{ to: string | undefined; costs: readonly (CopyCost | undefined)[]; write: ReturnType<typeof findWrite> }>;

function planUpgrade(
  { from, to, files, source, stores, costs, write, problems, warnings }: UpgradeFindings,
  { restart, upgrade }: Pick<SidecarSettings, "restart" | "upgrade">,
): UpgradePlan {
  const { answersWithinMs, healthyWithinMs, metricsWithinMs } = restart;
  const { keepSnapshot } = upgrade;
  const paths = stores.map(({ path }) => path).join(" and ");
  const more = files.length > namesShown ? ` and ${files.length - namesShown} more` : "";
  const programs = files.slice(0, namesShown).map(({ name }) => name);
  const changes = write?.changes.map(describeChange).join("; ");
  const steps = [
    `Stop the node (${from}).`,
    `Copy its data (${paths}) while it is stopped: ${describeCopy(costs, upgrade)}. Also save its binaries and node.conf.`,
    `Replace the old binaries with ${programs.join(", ")}${more} from ${source}.`,
    changes === undefined ? "Leave node.conf unchanged." : `Change node.conf: ${changes}.`,
    `Start ${to ?? "the new version"} and verify it: it responds (${answersWithinMs} ms), reports its version and advances past the old height with the ` +
      `same blocks (${healthyWithinMs} ms), its metrics arrive if they are checked (${metricsWithinMs} ms), and pruning is as before.`,
    keepSnapshot
      ? "Once it is verified, keep the copy of the data (upgrade.keepSnapshot)."
      : "Once it is verified, remove the copy of the data and the old binaries (upgrade.keepSnapshot is false): after that, there is no rollback to the old data.",
    "If anything fails before that: restore the old data, binaries and node.conf, verify the old version, and pause. Blocks that the new version received are fetched again.",
  ];
  const confirmed = [source, from, to, files, paths, keepSnapshot, write?.text];
  const digest = hash("sha256", JSON.stringify(confirmed)).slice(0, 16);
  const known = to === undefined ? {} : { to };
  return { from, ...known, steps: problems.length > 0 ? [] : steps, problems, warnings, digest };
}

const namesShown = 12;

function describeCopy(costs: readonly (CopyCost | undefined)[], limit: SidecarSettings["upgrade"]): string {
  const known = costs.filter((cost) => cost !== undefined);
  const size = formatSize(known.reduce((sum, cost) => sum + cost.bytes, 0));
  if (known.every((cost) => cost.isCloned)) return `${size}, ${clonedSizeText}`;
  return `${size}, copied in full within ${limit.copyTimeoutMs} ms (upgrade.copyTimeoutMs)`;
}
