import { isBetweenVersions } from "../adoption/authority.ts";
import type { DataEvidence, DataMark, KnownBlock } from "../state/data-evidence.ts";
import { assessData, type DataAssessment, compareKnownBlock, type DataCheck, hasKnownBlock } from "./assess-data.ts";
import { findSettledBlock } from "#node/settled-block.ts";
import type { ProcessIdentity } from "#daemon/process/running-process.ts";
import type { UpgradeContext } from "../upgrade/upgrade-context.ts";
import type { BlockCheck, DataRpc } from "../../upgrade/node-rpc.ts";
import type { ObservedData } from "./data-observation.ts";

/** State retained between two data checks; times are monotonic. */
export type DataWatch = { lastCheckMs?: number };

/** Max interval between checks; shorter if the node's RPC is checked more often than once a second. */
const checkIntervalMs = 60_000;
const rpcChecks = 60;

/** Time after which a replaced block counts as canonical unless a reference disagrees. */
const dayMs = 86_400_000;

/** No check starts while the node is being restarted or upgraded. Returns the ms until the next iteration is needed. */
export function watchData(watch: DataWatch, context: DataContext): number | undefined {
  const { data, clock, log, signal, settings, wake } = context;
  if (data.now().pendingCheck !== undefined) return undefined;
  if (isBusy(context)) {
    // Earlier findings are not evidence about a node that has started since.
    delete watch.lastCheckMs;
    return undefined;
  }
  const everyMs = Math.min(checkIntervalMs, settings.health.intervalMs * rpcChecks);
  const waitMs = watch.lastCheckMs === undefined ? 0 : watch.lastCheckMs + everyMs - clock.monotonicMs();
  if (waitMs > 0) return waitMs;
  watch.lastCheckMs = clock.monotonicMs();
  const pendingCheck = checkNow(context)
    .catch((error: unknown) => {
      if (!signal.aborted)
        log.error({ event: "data-check-failed", err: error }, "the check of the node's data failed; retrying");
    })
    .finally(() => {
      watch.lastCheckMs = clock.monotonicMs();
      data.note({ pendingCheck: undefined });
      wake();
    });
  data.note({ pendingCheck });
  return undefined;
}

function isBusy({ isRestarting, state }: DataContext): boolean {
  return isRestarting() || isBetweenVersions(state);
}

async function checkNow(context: DataContext): Promise<void> {
  const { state, data, signal } = context;
  const evidence = state.dataEvidence.get() ?? { failedStarts: [] };
  const found = await checkData(evidence, context);
  const judgement = assessData(evidence, found.check);
  const revised = await deriveEvidence(evidence, judgement, found, context);
  // A restart, an upgrade or an operator's command during the check makes it stale.
  if (signal.aborted || isBusy(context)) return;
  if (JSON.stringify(state.dataEvidence.get() ?? evidence) !== JSON.stringify(evidence)) return;
  if (revised !== undefined) state.dataEvidence.set(revised);
  data.note({ found: judgement });
}

/** Derives the evidence to store after a check; undefined if it is unchanged. */
async function deriveEvidence(
  evidence: DataEvidence,
  judgement: DataAssessment,
  found: DataCheckResult,
  context: DataContext,
): Promise<DataEvidence | undefined> {
  const { check: now } = found;
  const { clock, log } = context;
  if (judgement.kind === "another-chain") {
    log.warn(
      { event: "data-of-another-chain" },
      "the node has a different genesis block than before; its blocks are compared from now on",
    );
    return { failedStarts: [] };
  }
  if (judgement.kind === "sound") {
    const mark = await buildDataMark(evidence.mark, found, context);
    return { failedStarts: [], mark, otherSinceMs: undefined };
  }
  const known = evidence.mark?.block;
  const isOther = known !== undefined && compareKnownBlock(known, now.block, now.height) === "replaced";
  if (!isOther) return now.isHealthy && judgement.kind === "unknown" ? { ...evidence, failedStarts: [] } : undefined;
  const otherSinceMs = evidence.otherSinceMs ?? clock.wallMs();
  const isKnownElsewhere = now.references.some((block) => block.kind !== "unknown");
  const isChains = now.references.some(
    (block) => block.kind === "found" && block.hash === (now.block.kind === "found" ? now.block.hash : ""),
  );
  const isOld = !isKnownElsewhere && now.isHealthy && clock.wallMs() - otherSinceMs > dayMs;
  if (!isChains && !isOld) return { ...evidence, otherSinceMs };
  log.warn(
    { event: "data-block-replaced" },
    "the chain was reorganized: the references confirm the new block; blocks are compared from now on",
  );
  return { ...evidence, mark: evidence.mark && { ...evidence.mark, block: undefined }, otherSinceMs: undefined };
}

export type DataContext = UpgradeContext &
  Readonly<{ data: ObservedData; references: readonly Pick<DataRpc, "findBlock">[] }>;

/** Result of a data check, with the node's process; the next mark is built from both. */
type DataCheckResult = Readonly<{ check: DataCheck; process: ProcessIdentity | undefined }>;

const unknown: BlockCheck = { kind: "unknown" };

export async function checkData({ mark }: DataEvidence, context: DataContext): Promise<DataCheckResult> {
  const { health, rpc, holders, signal } = context;
  const { height, failure } = health.current();
  const facts = health.facts();
  const wasAnswering = facts.rpc !== undefined && facts.rpc.fault === undefined && failure === undefined;
  const isExpectedChain = facts.chain === "expected";
  const isMoving = facts.height === "advancing" || facts.height === "idle";
  const find = async (number: number | undefined) =>
    wasAnswering && number !== undefined ? rpc.findBlock(number, signal) : unknown;
  const [block, genesis] = await Promise.all([find(mark?.block?.number), find(0)]);
  const elsewhere = mark?.block === undefined ? [] : compareElsewhere(mark.block, block, height, context);
  const [process] = await holders.now();
  // A node that exited during the check would be stored as healthy but without a process, like a node whose process the sidecar can't see.
  const hasEnded = wasAnswering && process === undefined && (await health.check(signal)).failure !== undefined;
  const isAnswering = wasAnswering && !hasEnded;
  return {
    process,
    check: {
      isAnswering,
      isHealthy: isAnswering && isExpectedChain && isMoving,
      isExpectedChain,
      height: isAnswering ? height : undefined,
      block,
      genesis,
      references: await Promise.all(elsewhere),
      isSyncing: isAnswering ? await rpc.isSyncing(signal) : undefined,
    },
  };
}

function compareElsewhere(
  known: KnownBlock,
  block: BlockCheck,
  height: number | undefined,
  { references, signal }: DataContext,
): readonly Promise<BlockCheck>[] {
  const state = compareKnownBlock(known, block, height);
  return state === "replaced" || state === "missing"
    ? references.map((each) => each.findBlock(known.number, signal))
    : [];
}

/** Builds the mark that records a healthy node. */
async function buildDataMark(
  before: DataMark | undefined,
  { check, process }: DataCheckResult,
  { rpc, clock, signal }: DataContext,
): Promise<DataMark> {
  const { height = 0, genesis } = check;
  const number = findSettledBlock(height);
  const settled = await rpc.findBlock(number, signal);
  // Queries the earlier block once more, in case the data was replaced during the check.
  const holds =
    before?.block === undefined ||
    hasKnownBlock(before.block, await rpc.findBlock(before.block.number, signal), height);
  return {
    atMs: clock.wallMs(),
    block: settled.kind === "found" && holds ? { number, hash: settled.hash } : before?.block,
    genesis: genesis.kind === "found" ? genesis.hash : before?.genesis,
    process,
  };
}
