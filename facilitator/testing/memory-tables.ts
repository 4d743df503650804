import type { Hex } from "#x402/hex.ts";
import { toAuthorizationKey } from "../settlement/ledger/rows.ts";
import type { NotesPlace } from "../settlement/ownership.ts";
import type { Attempt, Outcome, Settlement, Unfinished } from "../settlement/settlement.ts";

/** A row of table `settlement`. */
export type SettlementRow = Readonly<{
  settlement: Settlement;
  outcome: Outcome | undefined;
  finishedAtMs: number | undefined;
}>;

type AttemptRow = Readonly<{ settlementId: Hex; attempt: Attempt }>;

/** A row of table `verification`. */
type VerificationRow = Readonly<{ id: Hex; owner: string; times: number; atMs: number; payer: string }>;

/** The settlement ledger's tables in memory, without chain ids. Rows are replaced and never changed, so that copying the maps keeps a state. */
export type Tables = {
  settlements: Map<Hex, SettlementRow>;
  attempts: Map<Hex, AttemptRow>;
  unsent: Map<Hex, string>;
  verifications: Map<string, VerificationRow>;
};

/** Creates empty tables. */
export function createTables(): Tables {
  return { settlements: new Map(), attempts: new Map(), unsent: new Map(), verifications: new Map() };
}

/** Makes all changes of `work`, or none if it throws. */
export function runAtomically<T>(tables: Tables, work: () => T): T {
  const { settlements, attempts, verifications } = tables;
  const before = {
    settlements: new Map(settlements),
    attempts: new Map(attempts),
    verifications: new Map(verifications),
  };
  try {
    return work();
  } catch (error) {
    Object.assign(tables, before);
    throw error;
  }
}

/** Inserts a begun settlement. False, and nothing is changed, when its id or its authorization is taken. */
export function insertSettlement({ settlements }: Tables, settlement: Settlement): boolean {
  if (settlements.has(settlement.id) || hasRival(settlements, settlement)) return false;
  const [asset, payer, nonce] = toAuthorizationKey(settlement) as [Hex, Hex, Hex];
  settlements.set(settlement.id, {
    settlement: { ...settlement, asset, payer, authorizationNonce: nonce },
    outcome: undefined,
    finishedAtMs: undefined,
  });
  return true;
}

/** Whether another settlement that has not failed has the same authorization. */
export function hasRival(
  settlements: Tables["settlements"],
  wanted: Pick<Settlement, "id" | "asset" | "payer" | "authorizationNonce">,
): boolean {
  const key = toAuthorizationKey(wanted).join(" ");
  return settlements
    .values()
    .some(
      ({ settlement, outcome }) =>
        settlement.id !== wanted.id && outcome?.state !== "failed" && toAuthorizationKey(settlement).join(" ") === key,
    );
}

/** Inserts a transaction of a settlement. */
export function insertAttempt({ attempts }: Tables, settlementId: Hex, attempt: Attempt): void {
  if (attempts.has(attempt.hash)) throw new UniqueError("attempt.hash");
  attempts.set(attempt.hash, { settlementId, attempt });
}

/** Transactions of a settlement, in the order in which they were signed: each offers more than the one before it. */
export function listAttempts({ attempts }: Tables, id: Hex): readonly Attempt[] {
  return [...attempts.values()]
    .filter(({ settlementId }) => settlementId === id)
    .map(({ attempt }) => attempt)
    .toSorted((a, b) => (a.maxFeePerGas < b.maxFeePerGas ? -1 : 1));
}

/** Settlements without an outcome, oldest first. */
export function listBegun(tables: Tables): readonly Unfinished[] {
  return [...tables.settlements.values()]
    .filter(({ outcome }) => outcome === undefined)
    .toSorted((a, b) => a.settlement.begunAtMs - b.settlement.begunAtMs || (a.settlement.id < b.settlement.id ? -1 : 1))
    .map(({ settlement }) => ({ settlement, attempts: listAttempts(tables, settlement.id) }));
}

/** Deletes a settlement that has neither an outcome nor a transaction. */
export function deleteChildless(tables: Tables, id: Hex): void {
  const isBegun = tables.settlements.get(id)?.outcome === undefined;
  if (isBegun && listAttempts(tables, id).length === 0) tables.settlements.delete(id);
}

/** Deletes notes of a time, but those of owners who verified what is on record more than once. Returns where the next step begins. */
export function deleteNotes(
  { settlements, verifications }: Tables,
  { fromMs, beforeMs }: NotesPlace,
  max: number,
): number | undefined {
  const old = [...verifications]
    .filter(([, { atMs }]) => atMs >= fromMs && atMs < beforeMs)
    .toSorted(([, a], [, b]) => a.atMs - b.atMs);
  const end = old[max]?.[1].atMs;
  const nextMs = end === undefined ? undefined : Math.max(end, fromMs + 1);
  for (const [key, { id, owner, times, atMs }] of old) {
    const isKept = times > 1 && settlements.get(id)?.settlement.owner === owner;
    if (atMs < (nextMs ?? beforeMs) && !isKept) verifications.delete(key);
  }
  return nextMs;
}

/** Replaces a row by another with the same id. */
export function update(
  { settlements }: Tables,
  id: Hex,
  change: (row: SettlementRow) => SettlementRow | undefined,
): boolean {
  const row = settlements.get(id);
  const changed = row === undefined ? undefined : change(row);
  if (changed === undefined) return false;
  settlements.set(id, changed);
  return true;
}

/** A violated constraint. */
export class UniqueError extends Error {
  override readonly name = "UniqueError";
  readonly code = "unique_violation";

  constructor(index: string) {
    super(`UNIQUE constraint failed: ${index}`);
  }
}
