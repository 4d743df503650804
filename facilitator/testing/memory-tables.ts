import type { Hex } from "#x402/hex.ts";
import { toAuthorizationKey } from "../settlement/ledger/rows.ts";
import type { NotesLocation } from "../settlement/ownership.ts";
import type { Attempt, Outcome, Recorded, Settlement, Unfinished } from "../settlement/settlement.ts";

/** Row of table `settlement`. */
export type SettlementRow = Readonly<{
  settlement: Settlement;
  outcome: Outcome | undefined;
  finishedAtMs: number | undefined;
}>;

type AttemptRow = Readonly<{ settlementId: Hex; attempt: Attempt }>;

/** Row of table `verification`. */
type VerificationRow = Readonly<{ id: Hex; owner: string; times: number; atMs: number; payer: string }>;

/** In-memory tables of the settlement ledger, without chain ids. Rows are replaced and never mutated, so that copying the maps takes a snapshot. */
export type Tables = {
  settlements: Map<Hex, SettlementRow>;
  /** By transaction and settlement. */
  attempts: Map<string, AttemptRow>;
  unsent: Map<Hex, string>;
  verifications: Map<string, VerificationRow>;
};

export function createTables(): Tables {
  return { settlements: new Map(), attempts: new Map(), unsent: new Map(), verifications: new Map() };
}

/** Applies all changes of `work`, or none if it throws. */
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

/** Inserts a started settlement. Returns false, and changes nothing, when its id or its authorization is taken. */
export function insertSettlement({ settlements }: Tables, settlement: Settlement): boolean {
  if (settlements.has(settlement.id) || hasConflict(settlements, settlement)) return false;
  const [, payer, nonce] = toAuthorizationKey(settlement) as [Hex, Hex, Hex];
  const asset = settlement.asset.toLowerCase() as Hex;
  settlements.set(settlement.id, {
    settlement: { ...settlement, asset, payer, authorizationNonce: nonce },
    outcome: undefined,
    finishedAtMs: undefined,
  });
  return true;
}

/** Returns whether another settlement that has not failed has the same authorization. */
export function hasConflict(
  settlements: Tables["settlements"],
  wanted: Pick<Settlement, "id" | "asset" | "contract" | "payer" | "authorizationNonce" | "callData">,
): boolean {
  const key = toAuthorizationKey(wanted).join(" ");
  return settlements
    .values()
    .some(
      ({ settlement, outcome }) =>
        settlement.id !== wanted.id && outcome?.state !== "failed" && toAuthorizationKey(settlement).join(" ") === key,
    );
}

/** Reads the record of a settlement; `newest` is its transaction while it is in flight. */
export function toRecorded({ settlement, outcome }: SettlementRow, newest: Hex | undefined): Recorded {
  const { owner, amount } = settlement;
  if (outcome === undefined) return { state: "begun", ...(newest === undefined ? {} : { transaction: newest }), owner };
  return outcome.state === "settled" ? { ...outcome, amount, owner } : { ...outcome, owner };
}

export function insertAttempt({ attempts }: Tables, settlementId: Hex, attempt: Attempt): void {
  const key = `${attempt.hash} ${settlementId}`;
  if (attempts.has(key)) throw new UniqueError("attempt.hash");
  attempts.set(key, { settlementId, attempt });
}

/** Lists the transactions of a settlement, in the order of signing: each offers more than the previous one. */
export function listAttempts({ attempts }: Tables, id: Hex): readonly Attempt[] {
  return [...attempts.values()]
    .filter(({ settlementId }) => settlementId === id)
    .map(({ attempt }) => attempt)
    .toSorted((a, b) => (a.maxFeePerGas < b.maxFeePerGas ? -1 : 1));
}

/** Lists settlements without an outcome, oldest first. */
export function listStarted(tables: Tables): readonly Unfinished[] {
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

/** Deletes notes from a time range, except those of owners who verified a recorded payment more than once. Returns where the next step starts. */
export function deleteNotes(
  { settlements, verifications }: Tables,
  { fromMs, beforeMs }: NotesLocation,
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

/** Replaces a row with another one with the same id. */
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

export class UniqueError extends Error {
  override readonly name = "UniqueError";
  readonly code = "unique_violation";

  constructor(index: string) {
    super(`UNIQUE constraint failed: ${index}`);
  }
}
