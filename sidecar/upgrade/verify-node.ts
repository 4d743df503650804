import type { Clock } from "#daemon/clock.ts";
import { waitUntil, type Pause } from "#daemon/time.ts";
import { compareProgram, nameProgram, type ProgramIdentity } from "#node/versions.ts";
import type { NodeBaseline } from "./node-baseline.ts";
import { UpgradeError } from "./progress.ts";

/** Interval and time limit of a verification, and the time during which no check may fail: a crash-looping node responds between crashes. */
export type VerificationLimits = Readonly<{
  everyMs: number;
  withinMs: number;
  steadyMs?: number;
  signal?: AbortSignal;
}>;

/** Waits until `findProblem` finds no reason why a started node is not verified; throws an {@link UpgradeError} at the time limit. */
export async function verifyNode(
  findProblem: () => Promise<string | undefined>,
  { steadyMs = 0, ...limits }: VerificationLimits,
  waits: Pick<Clock, "monotonicMs"> & Readonly<{ pause?: Pause }>,
): Promise<void> {
  let sinceMs: number | undefined;
  const check = async () => {
    const problem = await findProblem();
    const nowMs = waits.monotonicMs();
    sinceMs = problem === undefined ? (sinceMs ?? nowMs) : undefined;
    return { problem, isSteady: sinceMs !== undefined && nowMs - sinceMs >= steadyMs };
  };
  const { problem, isSteady } = await waitUntil(check, (found) => found.isSteady, limits, waits);
  if (isSteady) return;
  const why = problem ?? `it was not healthy for ${steadyMs} ms yet`;
  throw new UpgradeError(`within ${limits.withinMs} ms: ${why}`);
}

/** `reported` is what the node itself reports; also undefined if the evidence is inconclusive. */
export function findVersionConcern(
  expectedIdentity: ProgramIdentity,
  { tellsVersion }: Pick<NodeBaseline, "tellsVersion">,
  { reported, found = reported }: Readonly<Partial<Record<"reported" | "found", ProgramIdentity | undefined>>>,
): string | undefined {
  if (reported === undefined && tellsVersion) {
    return `it does not report its version, which must be ${nameProgram(expectedIdentity)}`;
  }
  if (found === undefined || compareProgram(found, expectedIdentity) !== "other") return undefined;
  return `it runs as ${nameProgram(found)}, not as ${nameProgram(expectedIdentity)}`;
}

/** @throws {UpgradeError} if an old block has another hash, because waiting can't fix that. */
export function findDataProblem({ block }: Pick<NodeBaseline, "block">, hash: string | undefined): string | undefined {
  if (block === undefined || hash === block.hash) return undefined;
  const differs = `its data differs: block ${block.number}, which had the hash ${block.hash},`;
  if (hash !== undefined) throw new UpgradeError(`${differs} has the hash ${hash}`);
  return `${differs} is not returned`;
}

/** Explains why a height does not prove that the node is advancing. `isIdle`: the chain has not produced a block for longer than usual. Pure. */
export function findHeightProblem(
  baseline: Pick<NodeBaseline, "height">,
  height: number | undefined,
  isIdle: boolean,
): string | undefined {
  if (height === undefined) return "it reports no height";
  if (height > baseline.height || (height === baseline.height && isIdle)) return undefined;
  return `its height is ${height}; it was ${baseline.height} before the upgrade`;
}
