import { findSettledBlock } from "#node/settled-block.ts";
import type { DataEvidence, DataMark, KnownBlock } from "../state/data-evidence.ts";
import type { ProcessIdentity } from "#daemon/process/running-process.ts";
import type { UpgradeContext } from "../upgrade/upgrade-context.ts";
import type { BlockCheck, DataRpc } from "../../upgrade/node-rpc.ts";
import { type DataCheck, compareKnownBlock, hasKnownBlock } from "./assess-data.ts";
import type { ObservedData } from "./data-observation.ts";

export type DataContext = UpgradeContext &
  Readonly<{ data: ObservedData; references: readonly Pick<DataRpc, "findBlock">[] }>;

/** Result of a data check, with the node's process; the next mark is built from both. */
export type DataCheckResult = Readonly<{ check: DataCheck; process: ProcessIdentity | undefined }>;

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
export async function buildDataMark(
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
