import { waitUntil } from "#daemon/time.ts";
import { lintConfig } from "#node/lint/lint-config.ts";
import { formatFinding, preventsStart, listNewFindings } from "#node/lint/new-findings.ts";
import { parseNodeVersion, findReleaseOfText } from "#node/versions.ts";
import { listNodeWarnings, readKnownBlock } from "#sidecar/upgrade/node-baseline.ts";
import {
  findCondition,
  hasCondition,
  readReportedVersion,
  type SidecarStatus,
  type StackQueries,
} from "./node-status.ts";
import { findUnrelatedChanges, isNodeReplaced } from "./pulumi/previewed-changes.ts";
import { PulumiError } from "./pulumi/pulumi-process.ts";
import type { PlatformCheck, StackPlatform, StackTask } from "./stack-platform.ts";
import type { StackNodeBaseline, UpgradeSide } from "./stack-record.ts";
import { buildConfigChange, type DeployedStack } from "./deployed-stack.ts";

export type StackCheck = Omit<PlatformCheck, "conf"> & Readonly<{ before: StackNodeBaseline | undefined }>;

/** Checks everything that could prevent verification or rollback of an upgrade; leaves no changes. */
export async function checkStack(deployedStack: DeployedStack, to: UpgradeSide, work: StackTask): Promise<StackCheck> {
  const { platform, queries } = work;
  const { from } = deployedStack;
  const { said, problems: ofNode } = await checkNode(deployedStack, work);
  const { toolImage, conf, ...found } = await platform.check(to.image);
  const lint = toolImage === undefined ? { problems: [], warnings: [] } : lintForUpgrade(conf, from, to, platform);
  const baseline = said && (await readBaseline(said, from, queries));
  return {
    problems: [
      ...findVersionProblems(from, to),
      ...ofNode,
      ...found.problems,
      ...lint.problems,
      ...(await findPreviewProblems(deployedStack, to, work)),
    ],
    warnings: [
      ...lint.warnings,
      ...found.warnings,
      ...listNodeWarnings(baseline, await queries.peers()),
      ...(said?.node.answers === true && baseline?.tellsVersion === false
        ? [`the node does not report its version: the new one will be identified ${platform.imageProof}`]
        : []),
    ],
    before: baseline,
    toolImage,
    copyWords: found.copyWords,
  };
}

function* findVersionProblems(from: UpgradeSide, to: UpgradeSide): Generator<string> {
  if (from.image === to.image && from.version === to.version) yield "the stack has this image and version already";
  if (findReleaseOfText(from.version).layout !== findReleaseOfText(to.version).layout) {
    yield `the workspace of ${to.version} has a different layout than that of ${from.version}: deploy a new node instead`;
  }
}

function lintForUpgrade(conf: string | undefined, from: UpgradeSide, to: UpgradeSide, { volume }: StackPlatform) {
  if (conf === undefined) return { problems: [`there is no node.conf in ${volume}`], warnings: [] };
  const bytes = Buffer.from(conf, "base64");
  const lint = ({ version }: UpgradeSide) => lintConfig(bytes, parseNodeVersion(version));
  // The sidecar writes the running version's keys into node.conf.
  const found = listNewFindings(lint(to), lint(from)).filter(({ rule }) => rule !== "other-version");
  const warnings = found.filter((finding) => !preventsStart(finding));
  return { problems: found.filter(preventsStart).map(formatFinding), warnings: warnings.map(formatFinding) };
}

async function findPreviewProblems(
  { project, prefix, from }: DeployedStack,
  to: UpgradeSide,
  { pulumi }: StackTask,
): Promise<readonly string[]> {
  try {
    const steps = await pulumi.preview(buildConfigChange(project, to, from));
    const unrelated = findUnrelatedChanges(steps, prefix);
    if (unrelated !== undefined) return [unrelated];
    return isNodeReplaced(steps, prefix) ? [] : ["pulumi up would not change the node"];
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
    return [error.message];
  }
}

async function readBaseline(
  said: SidecarStatus,
  { image }: UpgradeSide,
  { blockHash }: StackQueries,
): Promise<StackNodeBaseline | undefined> {
  const { height } = said.node;
  if (height === undefined) return undefined;
  return {
    height,
    block: await readKnownBlock(height, blockHash),
    tellsVersion: readReportedVersion(said, image) !== undefined,
    autoPrune: hasCondition(said, "Pruning"),
    metrics: hasCondition(said, "MetricsArriving"),
  };
}

/** Interval and time of checking an unhealthy node before the upgrade is rejected: a busy but healthy node may miss one response. */
const recheck = { everyMs: 5_000, withinMs: 15_000 };

async function checkNode(deployedStack: DeployedStack, { queries, clock, pause, signal }: StackTask) {
  const check = async () => {
    const nodeCheck = await queries.checkNode();
    const said = nodeCheck.ok ? nodeCheck.said : undefined;
    return {
      said,
      problems: nodeCheck.ok ? [...findNodeProblems(nodeCheck.said, deployedStack)] : [nodeCheck.message],
    };
  };
  return await waitUntil(check, ({ problems }) => problems.length === 0, { ...recheck, signal }, { ...clock, pause });
}

/** Conditions that must not be False before an upgrade: a regression is detectable only on a node that runs well now. */
const requiredConditions = [
  "RpcResponding",
  "ConfigReconciled",
  "NoRestartPending",
  "VersionConsistent",
  "NotPaused",
  "HeightAdvancing",
  "NodeSynced",
] as const;

function* findNodeProblems(said: SidecarStatus, { from }: DeployedStack): Generator<string> {
  if (!said.node.answers || said.node.height === undefined) yield "the node does not respond";
  const reportedVersion = readReportedVersion(said, from.image);
  if (reportedVersion !== undefined && reportedVersion.release !== parseNodeVersion(from.version)?.release) {
    yield `the node runs as ${reportedVersion.text}, but the stack specifies ${from.version}; resolve that first`;
  }
  for (const type of requiredConditions) {
    const condition = findCondition(said, type);
    // Conditions are absent while a sidecar has nothing to report: no pause, no restart.
    if (condition?.status === "False" && condition.reason !== "WaitingForApproval")
      yield `${type}: ${condition.message}`;
  }
  const upgrade = findCondition(said, "UpgradeVerified");
  if (upgrade?.reason === "Upgrading") yield `an upgrade is in progress: ${upgrade.message}`;
}
