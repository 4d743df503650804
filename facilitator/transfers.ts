import { createBoundedLog, saleLineLimit } from "#daemon/log/bounded-log.ts";
import { formatTraceInfo } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import { reject, type SettleResult } from "#x402/payment-result.ts";
import type { Hex } from "#x402/hex.ts";
import type { Transfers } from "#x402/scheme.ts";
import { namePayment } from "#x402/payment-identifier.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import type { DepositKey, SignedPayment } from "#x402/signed-payment.ts";
import { OverloadError, type Caller } from "./callers/caller.ts";
import { getNamedSigner } from "./chain/transfer-method.ts";
import type { PaymentChecks } from "./verification/payment-checks.ts";
import type { RecentVerdicts } from "./verification/verified-payments.ts";
import { payerNotesMax } from "./settlement/ownership.ts";
import type { RecordedSettlement } from "./settlement/settlement.ts";
import type { ComparedEngine } from "./settlement/start-engine.ts";
import { createTermsChecks, type SellerLimits } from "./seller-limits.ts";
import { rejectUnpaidRefund } from "./unpaid-calls.ts";

export type TransferOptions = Pick<Transfers, "assets"> &
  Readonly<{
    network: string;
    /** Lowercase addresses of the accounts that submit payments. */
    signers: ReadonlySet<string>;
    /** Lowercase addresses; empty allows everyone. */
    payees: ReadonlySet<string>;
    minAmount: (asset: Hex) => bigint;
  }>;

export type TransferDependencies = Omit<PaymentChecks, "recent" | "checkAgain"> &
  Readonly<{
    engine: Pick<
      ComparedEngine,
      "settle" | "progress" | "recordVerified" | "forgetRejected" | "wasVerified" | "adopt" | "hasBegun"
    >;
    hasDeposit: (key: DepositKey) => Promise<boolean>;
    contracts: () => ReadonlySet<string> | undefined;
    sellers: SellerLimits;
    recent: Pick<RecentVerdicts, "isSigned" | "recordGood" | "wasGood" | "forgetPayer">;
    clock: () => number;
    monotonicMs: () => number;
    log: Logger;
  }>;

/** Contracts assumed for an unchecked chain: all of them, because queries about a payment fail until the chain has been checked. */
const uncheckedContracts: Transfers["contracts"] = { has: () => true };

const tooManyNotes = `${payerNotesMax} verified payments of this payer are waiting for settlement, which is the limit; settle them, or wait for an hour`;

export function createTransfers(
  options: TransferOptions,
  dependencies: TransferDependencies,
): (caller: Caller) => Transfers {
  const { engine, sellers, checkWallet, releaseReservation, recordSettled, recent, clock, log } = dependencies;
  const logResult = createResultLog(options.network, log);
  const hasStarted = async (payment: SignedPayment) => (await engine.progress(payment)) !== undefined;
  const { rejectPayment, rejectVoucher } = createTermsChecks(options, dependencies);
  /** Rejects a payment that is not settled here, unless its settlement has started: that one completes and is reported to its owner. */
  const rejectNew = async (payment: SignedPayment, caller: Caller): Promise<Rejection | undefined> => {
    const rejection = (await rejectPayment(payment, caller)) ?? rejectNamed(payment, options);
    if (rejection === undefined || (await hasStarted(payment))) return undefined;
    if (rejection instanceof OverloadError) throw rejection;
    return rejection;
  };
  const settleAndForgetPayer = async (payment: SignedPayment, caller: Caller): Promise<SettleResult> => {
    try {
      const result = await engine.settle(payment, caller);
      if (result.state === "settled") recordSettled(payment);
      return (await adoptExternalPayment(payment, { caller, result }, dependencies)) ?? result;
    } finally {
      recent.forgetPayer(payment);
      releaseReservation(payment);
    }
  };
  return (caller) => ({
    assets: options.assets,
    contracts: dependencies.contracts() ?? uncheckedContracts,
    isSigned: recent.isSigned,
    rejectTerms: (terms) => rejectVoucher(terms, caller),
    rejectRefund: (refund) => (caller.isKnown === true ? undefined : rejectUnpaidRefund(refund, options.minAmount)),
    checkWallet: (signedPayment) => checkWallet(signedPayment, caller),
    read: (call) => dependencies.read(call, caller),
    progress: async (id) => (await engine.progress({ id }))?.state,
    clock,
    async verify(payment) {
      const earlyRejection = (await rejectNew(payment, caller)) ?? (await rejectSigner(payment, caller, dependencies));
      if (earlyRejection !== undefined) return reject(earlyRejection, payment.payer);
      // Record it before reading the progress: of two concurrent copies, the first to settle sees the other's record.
      const isNoted = caller.kind !== "seller" || (await engine.recordVerified(payment, caller.owner));
      if (!isNoted) throw new OverloadError(503, tooManyNotes);
      const rejection = await judge(payment, caller, dependencies);
      // Any caller can sign payments that will be rejected, each to a different seller.
      if (caller.kind === "seller" && rejection !== undefined) await engine.forgetRejected(payment.id, caller.owner);
      return rejection === undefined
        ? { result: { state: "valid" }, payer: payment.payer }
        : reject(rejection, payment.payer);
    },
    async settle(payment) {
      const rejection = (await rejectNew(payment, caller)) ?? (await rejectSigner(payment, caller, dependencies));
      if (rejection !== undefined) return reject(rejection, payment.payer);
      const conflict = await sellers.record(payment, caller, () => hasStarted(payment));
      if (conflict !== undefined) return reject(conflict, payment.payer);
      using _entered = sellers.enter(caller);
      const result = await settleAndForgetPayer(
        payment,
        payment.isRelayed === true ? { ...caller, kind: "sale", owner: payment.id } : caller,
      );
      logResult(payment, caller, result);
      return { result, payer: payment.payer };
    },
    async settleNothing(payment) {
      const signerRejection = await rejectSigner(payment, caller, dependencies);
      if (signerRejection !== undefined) return reject(signerRejection, payment.payer);
      if ((await engine.progress(payment)) !== undefined) return this.settle(payment);
      const rejection = payment.unserved ?? rejectNamed(payment, options);
      if (rejection !== undefined) return reject(rejection, payment.payer);
      releaseReservation(payment);
      return { result: { state: "unused" }, payer: payment.payer };
    },
  });
}

/**
 * Returns why a payment's signature is invalid. Doesn't ask the wallet once the settlement has started, and ignores its response if the
 * settlement starts during the call: the caller must get the outcome, whatever the wallet or the node returns now.
 */
async function rejectSigner(
  payment: SignedPayment,
  caller: Caller,
  { engine, checkSigner }: Pick<TransferDependencies, "engine" | "checkSigner">,
): Promise<Rejection | undefined> {
  if (payment.walletSignature === undefined || (await engine.hasBegun(payment))) return undefined;
  const [checked] = await Promise.allSettled([checkSigner(payment, caller)]);
  if (checked.status === "fulfilled" && checked.value === undefined) return undefined;
  if (await engine.hasBegun(payment)) return undefined;
  if (checked.status === "rejected") throw checked.reason;
  return checked.value;
}

async function judge(
  payment: SignedPayment,
  caller: Caller,
  { engine, check, reserve, recent, monotonicMs }: TransferDependencies,
): Promise<Rejection | undefined> {
  const recordedProgress = await engine.progress(payment);
  if (recordedProgress !== undefined) return rejectRecorded(recordedProgress, caller);
  const verifiedAtMs = monotonicMs();
  const rejection = (await check(payment, caller)) ?? (await reserve(payment, caller));
  if (rejection === undefined) {
    recent.recordGood(payment, verifiedAtMs, caller.waiting?.caller ?? "");
    return undefined;
  }
  // Another call may have started the payment's settlement in the meantime and reserved the payer's funds.
  const startedProgress = await engine.progress(payment);
  return startedProgress === undefined ? rejection : rejectRecorded(startedProgress, caller);
}

/** Creates the log of settlements. It is bounded, because any caller can repeat a reported payment. */
function createResultLog(network: string, log: Logger) {
  const lines = createBoundedLog(log, saleLineLimit);
  return ({ id, asset, payer, authorization }: SignedPayment, { request }: Caller, result: SettleResult): void => {
    if (result.state === "rejected") return;
    const payment = namePayment({ network, asset, payer, nonce: authorization.nonce });
    const facts = { settlement: id, payment, payer, ...formatResultFacts(result) };
    lines.info({ event: "settle-answered", ...facts, ...(request && formatTraceInfo(request)) }, "settle answered");
  };
}

/**
 * If a payment's nonce is used and the caller had verified the payment before, checks whether a third party executed it; an unverified
 * payment has paid someone else. For a seller with a key, the ledger has the verification even after a restart.
 */
async function adoptExternalPayment(
  payment: SignedPayment,
  { caller, result }: Readonly<{ caller: Caller; result: SettleResult }>,
  { engine, recent }: Pick<TransferDependencies, "engine" | "recent">,
): Promise<SettleResult | undefined> {
  const isUsed = result.state === "rejected" && result.rejection.reason === reason.nonceUsed;
  if (!isUsed) return undefined;
  const wasGood =
    recent.wasGood(payment, caller.waiting?.caller ?? "") ||
    (caller.kind === "seller" && (await engine.wasVerified(payment.id, caller.owner)));
  return wasGood ? engine.adopt(payment, caller) : undefined;
}

function rejectNamed(payment: SignedPayment, { signers }: Pick<TransferOptions, "signers">): Rejection | undefined {
  const namedSigner = getNamedSigner(payment);
  if (namedSigner === undefined || signers.has(namedSigner)) return undefined;
  const message = `the permit's facilitator is ${namedSigner}, but expected ${[...signers].join(" or ")}.`;
  return { reason: reason.uptoFacilitator, message };
}

/**
 * Returns why a payment with a recorded settlement is invalid for another sale; undefined if it is valid. It stays valid for the sale that
 * owns it, and for everyone while it has no owner, because a client that retries after `settlement_pending` must succeed.
 */
function rejectRecorded(recorded: RecordedSettlement, caller: Caller): Rejection | undefined {
  if (recorded.state === "failed") return recorded;
  if (recorded.owner === undefined || (caller.kind === "sale" && caller.owner === recorded.owner)) return undefined;
  return recorded.state === "settled" ? alreadySettled : settlementInFlight;
}

const settlementInFlight: Rejection = {
  reason: reason.duplicate,
  message: "the payment is being settled for another call; ask the client for another payment.",
};

const alreadySettled: Rejection = {
  reason: reason.nonceUsed,
  message: "the payment was already settled; ask the client for another payment.",
};

function formatResultFacts(result: Exclude<SettleResult, { state: "rejected" }>): Readonly<Record<string, string>> {
  if (result.state === "failed") return { state: result.state, reason: result.reason, transaction: result.transaction };
  return { state: result.state, transaction: result.state === "unused" ? "" : result.transaction };
}
