import type { AuditEntry } from "#daemon/audit/audit-log.ts";
import type { Fees } from "../chain/fees.ts";
import { getNonceSpace, type Transfer } from "../chain/transfer-method.ts";
import type { SettleResult } from "#x402/payment-result.ts";
import type { Hex } from "#x402/hex.ts";
import type { Reason } from "#x402/reason.ts";
import { namePayment } from "#x402/payment-identifier.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";

/** A payment to be submitted to the chain: all data needed to sign its transaction again and to recognize its success. */
export type Settlement = Transfer &
  Readonly<{
    /** EIP-712 digest of what the payer signed. */
    id: Hex;
    /** Seconds since 1970, from which the authorization is expired. */
    validBefore: bigint;
    /** Time of the first request to settle it, in milliseconds since 1970; stored in the ledger, so that restarts don't reset it. */
    begunAtMs: number;
    /** Caller that first requested it, if known; the ledger has the current owner (`ownership.ts`). */
    owner: string | undefined;
  }>;

/** Signed transaction of a settlement; other settlements may share it. */
export type Attempt = Readonly<{
  hash: Hex;
  signer: Hex;
  nonce: number;
  rawTransaction: Hex;
  /** In wei. */
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  signedAtMs: number;
  /** Position among its transaction's settlements; undefined if it is the only one. */
  batch?: Readonly<{ index: number; size: number }> | undefined;
}>;

/**
 * A settlement's record in the ledger, with its owner; undefined if unowned. Responses to callers are another union, `Answer` of
 * `x402/payment-result.ts`.
 */
export type RecordedSettlement = Readonly<(InFlightRecord | Outcome) & { owner: string | undefined }>;

/** State of a settlement in flight, with its newest transaction if there is one and the query selected it. */
type InFlightRecord = Readonly<{ state: "begun"; transaction?: Hex | undefined }>;

export type Outcome = Readonly<
  | { state: "settled"; transaction: Hex; amount?: bigint }
  | { state: "failed"; transaction: Hex; reason: Reason; message: string }
>;

/** Started settlement without an outcome, with its transactions in the order of signing. */
export type UnfinishedSettlement = Readonly<{ settlement: Settlement; attempts: readonly Attempt[] }>;

export function toSettlement(payment: SignedPayment, owner: string, begunAtMs: number): Settlement {
  const { id, asset, contract, payer, payTo, amount, authorization, callData } = payment;
  const { nonce, validBefore } = authorization;
  const terms = { id, asset, contract, payer, payTo, amount, authorizationNonce: nonce, validBefore };
  return { ...terms, callData, begunAtMs, owner };
}

export function auditSettlement(
  { id, payer, payTo, asset, amount, authorizationNonce: nonce }: Settlement,
  outcome: Outcome,
  network: string,
): AuditEntry {
  const isSettled = outcome.state === "settled";
  return {
    action: isSettled ? "payment-settled" : "payment-failed",
    outcome: isSettled ? "success" : "failure",
    by: "facilitator",
    message: isSettled ? "A payment was settled on the chain." : "A payment was not settled.",
    ...(isSettled ? {} : { reason: `${outcome.reason}: ${outcome.message}` }),
    payment: namePayment({ network, asset, payer, nonce }),
    before: { state: "begun" },
    after: {
      state: outcome.state,
      settlement: id,
      transaction: outcome.transaction,
      payer: payer.toLowerCase(),
      payTo: payTo.toLowerCase(),
      asset: asset.toLowerCase(),
      amount: String(amount),
    },
  };
}

/** In-flight settlement. Its state is mutable; updates must not await between read and write. Times are monotonic, in milliseconds. */
export type InFlightSettlement = {
  readonly settlement: Settlement;
  /** Response for waiting callers, or the error that prevented sending. Never rejects. */
  readonly ended: Promise<SettleResult | Error>;
  readonly end: (result: SettleResult | Error) => void;
  /** Signed and journaled transactions, oldest first; empty until the first is signed. */
  attempts: readonly Attempt[];
  /** Time at which this process last sent a transaction to a node; undefined if it has sent none. */
  sentAtMs: number | undefined;
  /** Time at which the newest transaction's fee was set; if an earlier process signed it, based on its wall-clock age. */
  pricedAtMs: number;
  /** Caller to whom success is reported; undefined until the settlement has an owner. */
  owner: string | undefined;
  queued: boolean;
  /** Whether the ledger had no record of it when it was requested. */
  unrecorded: boolean;
  /** Whether a transaction was signed. Once journaled, it is sent, so callers can't give up any more. */
  signed: boolean;
  /** Whether its caller gave up before anything was signed, so that nothing will be. */
  abandoned: boolean;
  /** Whether it needs its own transaction, because a shared one failed or was rejected. */
  isSeparate: boolean;
  /** Whether its last transaction ran out of gas; the next one gets the max gas of a settlement. */
  lackedGas: boolean;
  /** Fees of a replacement that the node rejected; the next one offers more. */
  rejectedFees: Fees | undefined;
  /** Time since which its transactions appear lost: their nonces are used and they have no receipt. */
  lostSinceMs: number | undefined;
  /** Last inconclusive diagnosis, while its cause persists: number of diagnoses, and the time of the next. */
  diagnosed: Readonly<{ cause: string; times: number; retryAtMs: number }> | undefined;
};

export function findNewest({ attempts }: InFlightSettlement): Attempt | undefined {
  return attempts.at(-1);
}

/** Groups settlements by the hash of their newest transaction, which may be shared. */
export function groupByTransaction(
  entries: readonly InFlightSettlement[],
): ReadonlyMap<Hex | undefined, readonly InFlightSettlement[]> {
  return Map.groupBy(entries, (entry) => findNewest(entry)?.hash);
}

export type InFlightSettlements = ReturnType<typeof createInFlightSettlements>;

export function createInFlightSettlements({
  clock,
  monotonicMs,
}: Readonly<{ clock: () => number; monotonicMs: () => number }>) {
  const byId = new Map<Hex, InFlightSettlement>();
  const idByAuthorization = new Map<string, Hex>();
  return {
    get: (id: Hex): InFlightSettlement | undefined => byId.get(id),
    /** Returns whether another settlement uses the same authorization nonce. */
    hasConflict: (settlement: Settlement): boolean =>
      (idByAuthorization.get(formatAuthorizationKey(settlement)) ?? settlement.id) !== settlement.id,
    add: (settlement: Settlement, attempts: readonly Attempt[]): InFlightSettlement => {
      const { promise, resolve } = Promise.withResolvers<SettleResult | Error>();
      const entry: InFlightSettlement = {
        settlement,
        ended: promise,
        end: resolve,
        attempts,
        sentAtMs: undefined,
        pricedAtMs: monotonicMs() - computeAge(attempts.at(-1), clock()),
        owner: settlement.owner,
        queued: false,
        unrecorded: false,
        signed: attempts.length > 0,
        abandoned: false,
        isSeparate: false,
        lackedGas: false,
        rejectedFees: undefined,
        lostSinceMs: undefined,
        diagnosed: undefined,
      };
      byId.set(settlement.id, entry);
      idByAuthorization.set(formatAuthorizationKey(settlement), settlement.id);
      return entry;
    },
    end: (entry: InFlightSettlement, result: SettleResult | Error): void => {
      // An abandoned settlement may end a second time, while its payment is in flight again.
      if (byId.get(entry.settlement.id) === entry) {
        byId.delete(entry.settlement.id);
        idByAuthorization.delete(formatAuthorizationKey(entry.settlement));
      }
      entry.end(result);
    },
    all: (): IteratorObject<InFlightSettlement> => byId.values(),
    size: (): number => byId.size,
    /** Returns the age of the oldest settlement, in milliseconds since its first request; 0 if none. */
    oldestMs: (): number => {
      const nowMs = clock();
      // Resumed settlements are unordered, and another replica's clock may be ahead of this one's.
      return byId.values().reduce((oldest, { settlement }) => Math.max(oldest, nowMs - settlement.begunAtMs), 0);
    },
  };
}

/** Computes the wall-clock age of a transaction; 0 if there is none, or if the clock was ahead when it was signed. */
function computeAge(attempt: Attempt | undefined, nowMs: number): number {
  return attempt === undefined ? 0 : Math.max(0, nowMs - attempt.signedAtMs);
}

function formatAuthorizationKey(settlement: Settlement): string {
  return `${getNonceSpace(settlement)} ${settlement.payer} ${settlement.authorizationNonce}`.toLowerCase();
}
