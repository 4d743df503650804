import type { Pause } from "#daemon/time.ts";
import { lintConfig } from "#node/lint/lint-config.ts";
import { formatFinding, isRefusing, listNewFindings } from "#node/lint/new-findings.ts";
import { parseNodeVersion, findReleaseOfText } from "#node/versions.ts";
import { listNodeWarnings, readKnownBlock } from "#sidecar/upgrade/node-before.ts";
import {
  findCondition,
  hasCondition,
  readReportedVersion,
  type SidecarStatus,
  type StackQueries,
} from "./node-status.ts";
import { describePlatform } from "./describe-platform.ts";
import { findStrangeChanges, isNodeReplaced } from "./pulumi/previewed-changes.ts";
import { PulumiError } from "./pulumi/pulumi-process.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import type { StackPlatform } from "./stack-platform.ts";
import type { NodeBefore, UpgradeSide } from "./stack-record.ts";
import { buildConfigChange, type DeployedStack } from "./deployed-stack.ts";

export type CheckStackDependencies = Readonly<{
  pulumi: Pick<PulumiCli, "preview">;
  platform: Pick<StackPlatform, "look">;
  queries: StackQueries;
  pause: Pause;
  signal: AbortSignal;
}>;

/** State of a stack before an upgrade. */
export type StackCheck = Readonly<{
  problems: readonly string[];
  warnings: readonly string[];
  before: NodeBefore | undefined;
  toolImage: string | undefined;
  copyWords: string;
  /** Whether the copy uses clones. */
  clones: boolean;
}>;

/** Checks everything that could prevent verification or rollback of an upgrade; leaves no changes. */
export async function checkStack(
  place: DeployedStack,
  to: UpgradeSide,
  dependencies: CheckStackDependencies,
): Promise<StackCheck> {
  const { platform, queries } = dependencies;
  const problems = [...findVersionProblems(place.from, to)];
  const { said, problems: ofNode } = await checkNode(place, dependencies);
  const found = await platform.look(place, to);
  const { toolImage, copyWords, clones, conf } = found;
  const lint = toolImage === undefined ? nothing : lintFor(conf, place, to);
  problems.push(
    ...ofNode,
    ...found.problems,
    ...lint.problems,
    ...(await findPreviewProblems(place, to, dependencies)),
  );
  const before = said === undefined ? undefined : await readBefore(said, place.from, queries);
  const warnings = [
    ...lint.warnings,
    ...found.warnings,
    ...listNodeWarnings(before, await queries.peers()),
    ...(said?.node.answers === true && before?.tellsVersion === false ? [explainNoVersion(place)] : []),
  ];
  return { problems, warnings, before, toolImage, copyWords, clones };
}

const nothing = { problems: [], warnings: [] } as const;

function explainNoVersion(place: DeployedStack): string {
  return `the node does not report its version: that the new one runs is known ${describePlatform(place).imageProof}`;
}

function* findVersionProblems(from: UpgradeSide, to: UpgradeSide): Generator<string> {
  if (from.image === to.image && from.version === to.version) yield "the stack has this image and version already";
  if (findReleaseOfText(from.version).layout !== findReleaseOfText(to.version).layout) {
    yield `${to.version} has another layout of the workspace than ${from.version}: start over with it`;
  }
}

function lintFor(conf: string | undefined, place: DeployedStack, to: UpgradeSide) {
  if (conf === undefined) {
    return { problems: [`there is no node.conf in ${describePlatform(place).volume}`], warnings: [] };
  }
  const bytes = Buffer.from(conf, "base64");
  const lint = ({ version }: UpgradeSide) => lintConfig(bytes, parseNodeVersion(version));
  // The sidecar writes the running version's keys into node.conf.
  const found = listNewFindings(lint(to), lint(place.from)).filter(({ rule }) => rule !== "other-version");
  const words = (speaksAgainst: boolean) =>
    found.filter((finding) => isRefusing(finding) === speaksAgainst).map(formatFinding);
  return { problems: words(true), warnings: words(false) };
}

async function findPreviewProblems(
  { project, prefix, from }: DeployedStack,
  to: UpgradeSide,
  { pulumi }: Pick<CheckStackDependencies, "pulumi">,
): Promise<readonly string[]> {
  try {
    const steps = await pulumi.preview(buildConfigChange(project, to, from));
    const strange = findStrangeChanges(steps, prefix);
    if (strange !== undefined) return [strange];
    return isNodeReplaced(steps, prefix) ? [] : ["pulumi up would not change the node"];
  } catch (error) {
    if (!(error instanceof PulumiError)) throw error;
    return [error.message];
  }
}

/** Reads facts of the running node for later verification of either version. */
async function readBefore(
  said: SidecarStatus,
  { image }: UpgradeSide,
  { blockHash }: StackQueries,
): Promise<NodeBefore | undefined> {
  const { height } = said.node;
  if (height === undefined) return undefined;
  const block = await readKnownBlock(height, blockHash);
  return {
    height,
    ...(block === undefined ? {} : { block }),
    tellsVersion: readReportedVersion(said, image) !== undefined,
    autoPrune: hasCondition(said, "AutoPruneEnabled"),
    metrics: hasCondition(said, "MetricsArriving"),
  };
}

/** Latest status of a node from its sidecar, and problems that prevent an upgrade. */
type CheckedNode = Readonly<{ said: SidecarStatus | undefined; problems: readonly string[] }>;

/** Max number of checks of an unhealthy node before the upgrade is rejected; the sidecar checks more often. */
const looksMax = 4;
const betweenLooksMs = 5_000;

/** Reads a node's status up to a few times until it has no problems: a busy but healthy node may miss one response. */
async function checkNode(
  place: DeployedStack,
  { queries, pause, signal }: CheckStackDependencies,
): Promise<CheckedNode> {
  for (let looks = 1; ; looks += 1) {
    const looked = await queries.look();
    const said = looked.ok ? looked.said : undefined;
    const problems = looked.ok ? [...findNodeProblems(looked.said, place)] : [looked.message];
    if (problems.length === 0 || looks >= looksMax || signal.aborted) return { said, problems };
    await pause(betweenLooksMs, signal);
  }
}

/** Conditions that must not be False before an upgrade: a regression is detectable only on a node that runs well now. */
const needed = [
  "RpcResponding",
  "ConfigValid",
  "ConfigReconciled",
  "NoRestartPending",
  "VersionConsistent",
  "NotPaused",
] as const;

function* findNodeProblems(said: SidecarStatus, { from }: DeployedStack): Generator<string> {
  if (!said.node.answers || said.node.height === undefined) yield "the node does not answer";
  const reported = readReportedVersion(said, from.image);
  if (reported !== undefined && reported.release !== parseNodeVersion(from.version)?.release) {
    yield `the node runs as ${reported.text}, and the stack says ${from.version}; bring them together first`;
  }
  for (const type of needed) {
    const condition = findCondition(said, type);
    // Conditions are absent while a sidecar has nothing to report: no pause, no restart.
    if (condition?.status === "False") yield `${type}: ${condition.message}`;
  }
  for (const type of ["HeightAdvancing", "NodeSynced"]) {
    const condition = findCondition(said, type);
    if (condition?.status === "False") yield `the node is not current: ${condition.message}`;
  }
  const upgrade = findCondition(said, "UpgradeVerified");
  if (upgrade?.reason === "Upgrading") yield `an upgrade is under way: ${upgrade.message}`;
}
