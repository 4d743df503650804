import type { Hex } from "#x402/hex.ts";
import type { Chain, Head, Receipt } from "../../chain/chain.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { readSettledAfter, type FinishedSettlement, type LedgerLocation } from "../ledger/settlement-queries.ts";
import { showsTransfer } from "../../chain/transfer-method.ts";

/** Settlement that is in the ledger but not on the chain. */
export type Mismatch = FinishedSettlement &
  Readonly<{
    /** Description of what is on the chain instead. */
    found: string;
    /** Whether the node's newest block is older than the settlement, so that a missing receipt implies nothing about the chain. */
    isNodeBehind: boolean;
    /** Milliseconds since 1970. */
    foundAtMs: number;
  }>;

export type WalkDependencies = Readonly<{
  store: Pick<SqlStore, "rows">;
  chain: Pick<Chain, "head" | "receipt">;
  clock: () => number;
}>;

/** Result of a check that started at `atMs` (milliseconds since 1970). */
type WalkResult = Readonly<{ mismatches: readonly Mismatch[]; atMs: number }>;

/** Iterates over recent settlements, one batch per check. */
export type LedgerWalk = Readonly<{
  /**
   * @throws {ChainError | StoreError} when the node or the ledger did not respond; the next check resumes at the same position.
   */
  compareNext: () => Promise<WalkResult>;
}>;

/** Age of the oldest compared settlement: a reorganisation, or a node that lost data, shows up in recent settlements. */
const windowMs = 3_600_000;
/** With several nodes behind one URL, a lagging node may not have the newest blocks yet. */
const settledLongEnoughMs = 30_000;
/** Max settlements per check that are not known mismatches; at the default interval, more than eight a second. */
const walkedMax = 500;
/** Max known mismatches rechecked per check, the longest unchecked first. */
const recheckedMax = 100;
/** Max known mismatches. */
const knownMax = 1_000;
/** Concurrent calls share one JSON-RPC batch with the payments' own calls; this small number leaves capacity for them. */
const receiptsAtOnce = 20;

/**
 * Creates an iterator over the settlements of the last hour, from oldest to newest, then again from the oldest. A mismatch stays known for
 * an hour, or until the chain has the settlement, so that an alert that waits for minutes sees it that long.
 */
export function createLedgerWalk(
  options: Readonly<{ chainId: number }>,
  { store, chain, clock }: WalkDependencies,
): LedgerWalk {
  let reached: LedgerLocation | undefined;
  let known: ReadonlyMap<Hex, Mismatch> = new Map();
  return {
    compareNext: async () => {
      const atMs = clock();
      const hour: LedgerLocation = { finishedAtMs: atMs - windowMs, id: "" };
      const after = reached === undefined || reached.finishedAtMs < hour.finishedAtMs ? hour : reached;
      const walked = await readSettledAfter({ after, beforeMs: atMs - settledLongEnoughMs, max: walkedMax }, options, {
        store,
      });
      const again = [...known.values()].slice(0, recheckedMax);
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
  // Read the head before the receipts: a node that catches up in between is then still reported as behind, never the reverse.
  const head = await chain.head();
  const mismatched: Omit<Mismatch, "foundAtMs">[] = [];
  for (let at = 0; at < settlements.length; at += receiptsAtOnce) {
    const chunk = settlements.slice(at, at + receiptsAtOnce);
    const hashes = [...new Set(chunk.map(({ transaction }) => transaction))];
    const read = hashes.map(async (hash) => [hash, await chain.receipt(hash)] as const);
    const receipts = new Map(await Promise.all(read));
    for (const one of chunk) {
      const receipt = receipts.get(one.transaction);
      const found = describeMissingOnChain(one.settlement, receipt);
      if (found !== undefined) mismatched.push({ ...one, found, isNodeBehind: isBehind(one, receipt, head) });
    }
  }
  return mismatched;
}

/** Describes what the chain lacks for a settlement; `undefined` if nothing. */
export function describeMissingOnChain(
  settlement: FinishedSettlement["settlement"],
  receipt: Receipt | undefined,
): string | undefined {
  if (receipt === undefined) return "no receipt";
  if (receipt.status !== 1) return "a transaction that was reverted";
  // The settlement's transaction may be a third party's that executed the same authorization; it contains the same transfer.
  return showsTransfer(receipt, settlement) ? undefined : "a transaction without the transfer";
}

/** Returns whether the node is behind: a node restarted from older data has no receipts for blocks that it has not reached yet. */
function isBehind({ finishedAtMs }: FinishedSettlement, receipt: Receipt | undefined, head: Head): boolean {
  return receipt === undefined && head.timestamp * 1_000 < finishedAtMs;
}
