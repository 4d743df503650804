import { parseNodeVersion } from "#node/versions.ts";
import {
  findDataProblem,
  findHeightProblem,
  findVersionConcern,
  verifyNode,
  type VerificationLimits,
} from "#sidecar/upgrade/verify-node.ts";
import {
  findCondition,
  hasCondition,
  readReportedVersion,
  type SidecarStatus,
  type StackQueries,
} from "./node-status.ts";
import type { StackNodeBaseline } from "./stack-record.ts";
import type { StackTask } from "./stack-platform.ts";

export type NodeVerificationOptions = Readonly<{
  version: string;
  image: string;
  before: StackNodeBaseline;
  /** Whether the sidecar may be paused: allowed for the old version, because a failed restart of the new one pauses the sidecar. */
  mayBePaused: boolean;
}> &
  VerificationLimits;

export type VerifyVersionDependencies = Pick<StackQueries, "checkNode" | "blockHash"> &
  Pick<StackTask, "clock" | "pause">;

/** Sidecar conditions that must be True, and those of them that a pause leaves False. */
const neededTypes = ["RpcResponding", "ConfigReconciled", "NoRestartPending", "VersionConsistent"] as const;
const falseInPause: ReadonlySet<string> = new Set(["ConfigReconciled", "NoRestartPending"]);

/** @throws {UpgradeError} at the deadline; at once if an old block has a different hash. */
export function verifyStackNode(
  options: NodeVerificationOptions,
  dependencies: VerifyVersionDependencies,
): Promise<void> {
  const { clock, pause } = dependencies;
  return verifyNode(() => findProblem(options, dependencies), options, { ...clock, pause });
}

async function findProblem(
  options: NodeVerificationOptions,
  { checkNode, blockHash }: VerifyVersionDependencies,
): Promise<string | undefined> {
  const nodeCheck = await checkNode();
  if (!nodeCheck.ok) return nodeCheck.message;
  const { said } = nodeCheck;
  const { before } = options;
  // An unhealthy node is queried too: a different hash matters more than its other problems.
  const hash = before.block === undefined || !said.node.answers ? undefined : await blockHash(before.block.number);
  const ofData = findDataProblem(before, hash);
  const isIdle = findCondition(said, "HeightAdvancing")?.reason === "Idle";
  return findSidecarProblem(said, options) ?? findHeightProblem(before, said.node.height, isIdle) ?? ofData;
}

function findSidecarProblem(
  said: SidecarStatus,
  { version, image, before, mayBePaused }: NodeVerificationOptions,
): string | undefined {
  if (!said.node.answers) return "the node does not respond";
  const reportedVersion = readReportedVersion(said, image);
  const expected = { version: parseNodeVersion(version) };
  const ofVersion = findVersionConcern(expected, before, { reported: reportedVersion && { version: reportedVersion } });
  if (ofVersion !== undefined) return ofVersion;
  const pause = findCondition(said, "NotPaused");
  if (!mayBePaused && pause?.reason === "Paused") return `the sidecar is paused (NotPaused): ${pause.message}`;
  const requiredTypes = [
    ...neededTypes.filter((type) => !mayBePaused || !falseInPause.has(type)),
    ...(before.autoPrune ? ["Pruning"] : []),
    ...(before.metrics ? ["MetricsArriving"] : []),
  ];
  const missingType = requiredTypes.find((type) => !hasCondition(said, type));
  return (
    missingType &&
    `${missingType}: ${findCondition(said, missingType)?.message ?? "the sidecar does not report it yet"}`
  );
}
