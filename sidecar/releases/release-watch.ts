import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { pollCheck } from "#status/failed-check.ts";
import type { NodeLayout } from "#node/layout.ts";
import type { ProgramIdentity } from "#node/versions.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { SidecarSettings } from "../settings.ts";
import { createNodeRpc, type NodeQueries } from "../upgrade/node-rpc.ts";
import { evaluateVersion } from "./needed-version.ts";
import { evaluateForks, type ForkSituation } from "./fork-schedule.ts";
import { openReleaseLists, type ProgramsLocation, type ReleaseListsDependencies } from "./release-lists.ts";

export type ReleaseWatchDependencies = ReleaseListsDependencies &
  Readonly<{
    program: () => ProgramIdentity;
    places: () => ProgramsLocation;
    health: Readonly<{ current: () => Readonly<{ height?: number }> }>;
    board: ConditionBoard;
    clock: Clock;
    log: Logger;
  }>;

/** Interval between queries for the block rate, which changes slowly; also the delay after a query without a response. */
const blockTimeIntervalMs = 600_000;
const blockTimeRetryMs = 30_000;

const spanBlocks = 10_000;

export type ReleaseWatch = Awaited<ReturnType<typeof watchReleases>>;

/** @throws {StartupError} when the list is unusable at startup. */
export async function watchReleases(
  { upgrade, node, health: { intervalMs } }: Pick<SidecarSettings, "upgrade" | "node" | "health">,
  { program, places, health, board, clock, log, ...others }: ReleaseWatchDependencies,
) {
  const { warnBeforeSeconds } = upgrade;
  const lists = await openReleaseLists(upgrade, { ...others, clock, log });
  const { blockSeconds } = createNodeRpc(node.httpUrl);
  let lastCheckMs: number | undefined;
  let againMs = 0;
  // While the node does not respond, its last known rate applies.
  let secondsPerBlock: number | undefined;
  const measureRate = async (height: number, signal: AbortSignal) => {
    const beganMs = clock.monotonicMs();
    if (lastCheckMs !== undefined && beganMs - lastCheckMs <= againMs) return;
    lastCheckMs = beganMs;
    const measuredSeconds = await readSecondsPerBlock(height, blockSeconds, signal);
    againMs = measuredSeconds === undefined ? blockTimeRetryMs : blockTimeIntervalMs;
    secondsPerBlock = measuredSeconds ?? secondsPerBlock;
  };
  const checkReleases = async (signal: AbortSignal) => {
    const { own, published, releases, isNamed } = await lists.read(places());
    const { height } = health.current();
    if (releases.length > 0 && height !== undefined) await measureRate(height, signal);
    if (signal.aborted) return;
    const { version, commit } = program();
    const nowMs = clock.wallMs();
    const epochs = findEpochs(places(), node, upgrade);
    const reports = [];
    if (releases.length > 0 || (isNamed && published.length === 0)) {
      reports.push(evaluateVersion(releases, { version, height, secondsPerBlock, nowMs }, warnBeforeSeconds));
    }
    if (own !== undefined || published.length > 0) {
      reports.push(evaluateForks({ own, published, commit, epochs, nowMs }, warnBeforeSeconds));
    }
    const worstReport = pickWorst(reports);
    if (worstReport !== undefined) board.set(worstReport);
  };
  const what = "The comparison of the node's version with the release list";
  const options = { name: "releases", what, intervalMs };
  const pollLoop = pollCheck({ ...options, types: ["VersionSupported"] }, checkReleases, { board, log });
  return {
    commits: lists.commits,
    [Symbol.asyncDispose]: async () => {
      await pollLoop[Symbol.asyncDispose]();
      await lists[Symbol.asyncDispose]();
    },
  };
}

/** Determines when epochs start, from the setting or else from the family's default for the chain. */
function findEpochs(
  { family: { epochs } }: Pick<NodeLayout, "family">,
  { chainId }: Pick<SidecarSettings["node"], "chainId">,
  { epochZeroMs }: Pick<SidecarSettings["upgrade"], "epochZeroMs">,
): ForkSituation["epochs"] {
  const startMs = epochZeroMs ?? epochs?.starts[chainId];
  return epochs === undefined || startMs === undefined ? undefined : { startMs, lengthMs: epochs.lengthMs };
}

/** Picks the most severe report: False first, then Unknown. */
function pickWorst(
  reports: readonly ConditionReport<"VersionSupported">[],
): ConditionReport<"VersionSupported"> | undefined {
  const worstReport = (["Outdated", "OutdatedSoon", "NotCompared"] as const).flatMap((reason) =>
    reports.filter((report) => report.reason === reason),
  );
  return worstReport[0] ?? reports.at(-1);
}

/** Computes the seconds per block on a node's chain from the timestamps of the head and an earlier block; returns undefined if the node does not respond. */
async function readSecondsPerBlock(
  height: number,
  blockSeconds: NodeQueries["blockSeconds"],
  signal: AbortSignal,
): Promise<number | undefined> {
  // The genesis block may be much older than the first mined block.
  const span = Math.min(spanBlocks, height - 1);
  if (span < 1) return undefined;
  const [first, last] = await Promise.all([blockSeconds(height - span, signal), blockSeconds(height, signal)]);
  if (first === undefined || last === undefined || last <= first) return undefined;
  return (last - first) / span;
}
