import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import { parseNodeVersion, type NodeVersion } from "#node/versions.ts";
import { findDataConcern, findHeightConcern, findVersionConcern } from "#sidecar/upgrade/node-before.ts";
import {
  findCondition,
  hasCondition,
  readReportedVersion,
  type SidecarStatus,
  type StackQueries,
} from "./node-status.ts";
import type { NodeBefore } from "./stack-record.ts";

/** Evidence required to verify a version, and the deadline. */
export type ProofOptions = Readonly<{
  version: string;
  image: string;
  before: NodeBefore;
  /** Whether the sidecar may be paused: allowed for the old version, because a failed restart of the new one sets a pause. */
  mayBeHeld: boolean;
  withinMs: number;
  /** Time during which all checks must pass without interruption: a crash-looping node responds between crashes. */
  steadyMs: number;
  everyMs: number;
}>;

export type ProofDependencies = Pick<StackQueries, "look" | "blockHash"> &
  Readonly<{ clock: Pick<Clock, "monotonicMs">; pause: Pause }>;

/** Outcome of a verification, and whether the node itself reported its version. */
export type Proof = Readonly<{ kind: "done"; reportedVersion: boolean } | { kind: "failed"; why: string }>;

/** Sidecar conditions that must be True. */
const wanted = ["RpcResponding", "ConfigReconciled", "NoRestartPending", "VersionConsistent"] as const;

/**
 * Waits until the node is verified: it runs the expected version with a matching node.conf, is above its old height with the same blocks,
 * and prunes and pushes metrics if it did before. All checks must pass for a while. If an old block has a different hash, verification
 * fails at once, because waiting can't fix that.
 */
export async function proveNode(options: ProofOptions, dependencies: ProofDependencies): Promise<Proof> {
  const { withinMs, steadyMs, everyMs } = options;
  const { clock, pause } = dependencies;
  const untilMs = clock.monotonicMs() + withinMs;
  let rightSinceMs: number | undefined;
  for (;;) {
    const found = await findDoubt(options, dependencies);
    if (found.isFinal === true) return { kind: "failed", why: found.doubt ?? "" };
    const nowMs = clock.monotonicMs();
    rightSinceMs = found.doubt === undefined ? (rightSinceMs ?? nowMs) : undefined;
    if (rightSinceMs !== undefined && nowMs - rightSinceMs >= steadyMs) {
      return { kind: "done", reportedVersion: found.reportedVersion };
    }
    if (nowMs >= untilMs) {
      const why = found.doubt ?? `it has not been well for ${steadyMs} ms yet`;
      return { kind: "failed", why: `within ${withinMs} ms: ${why}` };
    }
    await pause(everyMs);
  }
}

/** Reason, if any, why a node fails verification now; `isFinal`: waiting would not help. */
type Finding = Readonly<{ doubt: string | undefined; isFinal?: true; reportedVersion: boolean }>;

async function findDoubt(options: ProofOptions, { look, blockHash }: ProofDependencies): Promise<Finding> {
  const looked = await look();
  if (!looked.ok) return { doubt: looked.message, reportedVersion: false };
  const { said } = looked;
  const { before } = options;
  const reported = readReportedVersion(said, options.image);
  const reportedVersion = reported !== undefined;
  // An unhealthy node is queried too: a different hash matters more than its other problems.
  const hash = before.block === undefined || !said.node.answers ? undefined : await blockHash(before.block.number);
  const ofData = findDataConcern(before, hash);
  if (ofData !== undefined && hash !== undefined) return { doubt: ofData, isFinal: true, reportedVersion };
  const doubt = findSidecarDoubt(said, reported, options) ?? findChainDoubt(said, options) ?? ofData;
  return { doubt, reportedVersion };
}

function findSidecarDoubt(
  said: SidecarStatus,
  reported: NodeVersion | undefined,
  { version, before, mayBeHeld }: ProofOptions,
): string | undefined {
  if (!said.node.answers) return "the node does not answer";
  const ofVersion = findVersionConcern({ version: parseNodeVersion(version) }, before, {
    reported: reported && { version: reported },
  });
  if (ofVersion !== undefined) return ofVersion;
  const hold = findCondition(said, "NotPaused");
  if (!mayBeHeld && hold?.status === "False") return `the sidecar holds (NotPaused): ${hold.message}`;
  const needed = [
    ...(mayBeHeld ? wanted.filter((type) => type !== "NoRestartPending" && type !== "ConfigReconciled") : wanted),
    ...(before.autoPrune ? ["AutoPruneEnabled"] : []),
    ...(before.metrics ? ["MetricsArriving"] : []),
  ];
  const missing = needed.find((type) => !hasCondition(said, type));
  if (missing === undefined) return undefined;
  return `${missing}: ${findCondition(said, missing)?.message ?? "the sidecar says nothing of it yet"}`;
}

function findChainDoubt(said: SidecarStatus, { before }: ProofOptions): string | undefined {
  const { height } = said.node;
  if (height === undefined) return "it reports no height";
  return findHeightConcern(before, height, findCondition(said, "HeightAdvancing")?.reason === "Idle");
}
