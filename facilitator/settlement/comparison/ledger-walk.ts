import type { Hex } from "#x402/hex.ts";
import type { Chain, Head, Receipt } from "../../chain/chain.ts";
import type { FinishedSettlement, FinishedSettlements, LedgerPlace } from "../ledger/finished-settlements.ts";
import { showsTransfer } from "../track/diagnosis.ts";

/** A settlement that the ledger has and the chain has not. */
export type Mismatch = FinishedSettlement &
  Readonly<{
    /** Description of what the chain has instead. */
    found: string;
    /** The node's newest block is older than the settlement, so that its silence says nothing about the chain. */
    isNodeBehind: boolean;
    /** Milliseconds since 1970. */
    foundAtMs: number;
  }>;

export type WalkDependencies = Readonly<{
  finished: FinishedSettlements;
  chain: Pick<Chain, "head" | "receipt">;
  clock: () => number;
}>;

/** Result of a look, which began at `atMs` (milliseconds since 1970). */
type Looked = Readonly<{ mismatches: readonly Mismatch[]; atMs: number }>;

/** Goes through what was settled lately, a stretch at each look. */
export type LedgerWalk = Readonly<{
  /** @throws {ChainError | StoreError} when the node or the ledger gave no answer; the next look begins at the same place. */
  look: () => Promise<Looked>;
}>;

/** Age of the oldest settlement that is compared: a reorganisation, or a node that lost data, shows in what was settled lately. */
const windowMs = 3_600_000;
/** With several nodes behind one URL, one that lags may not have the newest blocks yet. */
const settledLongEnoughMs = 30_000;
/** Settlements of one look that were not found mismatched before: at the default interval, more than eight a second. */
const walkedMax = 500;
/** Known mismatches that are looked at again in one look, the longest unchecked first. */
const againMax = 100;
/** Mismatches that are remembered. */
const knownMax = 1_000;
/** Calls made together share one JSON-RPC batch, with the payments' own: so few leave them room. */
const receiptsAtOnce = 20;

/**
 * Creates a walk through the settlements of the last hour, from the oldest to the newest and again from the oldest. What is found
 * mismatched stays known for an hour from then on, or until the chain has it, so that an alert that waits for minutes sees it that long.
 */
export function createLedgerWalk({ finished, chain, clock }: WalkDependencies): LedgerWalk {
  let reached: LedgerPlace | undefined;
  let known: ReadonlyMap<Hex, Mismatch> = new Map();
  return {
    look: async () => {
      const atMs = clock();
      const hour: LedgerPlace = { finishedAtMs: atMs - windowMs, id: "" };
      const from = reached === undefined || reached.finishedAtMs < hour.finishedAtMs ? hour : reached;
      const walked = await finished.settledAfter(from, atMs - settledLongEnoughMs, walkedMax);
      const again = [...known.values()].slice(0, againMax);
      const compared = new Map([...again, ...walked].map((one) => [one.settlement.id, one]));
      const found = await compare([...compared.values()], chain);
      const untouched = [...known].filter(([id]) => !compared.has(id));
      const mismatched = found.map(
        (one) => [one.settlement.id, { ...one, foundAtMs: known.get(one.settlement.id)?.foundAtMs ?? atMs }] as const,
      );
      known = new Map(
        [...untouched, ...mismatched].filter(([, { foundAtMs }]) => foundAtMs > atMs - windowMs).slice(0, knownMax),
      );
      const last = walked.length < walkedMax ? undefined : walked.at(-1);
      reached = last === undefined ? undefined : { finishedAtMs: last.finishedAtMs, id: last.settlement.id };
      return { mismatches: [...known.values()], atMs };
    },
  };
}

async function compare(
  settlements: readonly FinishedSettlement[],
  chain: WalkDependencies["chain"],
): Promise<readonly Omit<Mismatch, "foundAtMs">[]> {
  if (settlements.length === 0) return [];
  // Asked before the receipts: a node that catches up meanwhile is then still called behind, and never the other way round.
  const head = await chain.head();
  const mismatched: Omit<Mismatch, "foundAtMs">[] = [];
  for (let at = 0; at < settlements.length; at += receiptsAtOnce) {
    const chunk = settlements.slice(at, at + receiptsAtOnce);
    const receipts = await Promise.all(chunk.map(({ transaction }) => chain.receipt(transaction)));
    for (const [index, one] of chunk.entries()) {
      const found = describeLack(one.settlement, receipts[index]);
      if (found !== undefined) mismatched.push({ ...one, found, isNodeBehind: isBehind(one, receipts[index], head) });
    }
  }
  return mismatched;
}

/** Describes what the chain lacks of a settlement; `undefined` if it has all. */
function describeLack(settlement: FinishedSettlement["settlement"], receipt: Receipt | undefined): string | undefined {
  if (receipt === undefined) return "no receipt";
  if (receipt.status !== 1) return "a transaction that was reverted";
  // The settlement's transaction may be a stranger's who carried out the same authorization; its transfer stands in it just so.
  return showsTransfer(receipt, settlement) ? undefined : "a transaction without the transfer";
}

/** Whether the node is behind: one that was started over from older data has no receipt of what it has yet to see. */
function isBehind({ finishedAtMs }: FinishedSettlement, receipt: Receipt | undefined, head: Head): boolean {
  return receipt === undefined && head.timestamp * 1_000 < finishedAtMs;
}
