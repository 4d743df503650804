import type { Hex } from "#x402/hex.ts";
import { approvesPermit2 } from "#x402/permit2.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { JsonRpcFailure } from "#daemon/json-rpc.ts";
import type { Authorization } from "#x402/typed-data.ts";
import { retainNewest } from "#daemon/memoize.ts";
import type { Transfers } from "#x402/scheme.ts";
import type { Caller } from "../callers/caller.ts";
import type { CallLocation } from "../chain/batching-client.ts";
import { ChainError, requireExecutionError } from "../chain/chain-error.ts";
import type { Chain } from "../chain/chain.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import {
  getNamedSigner,
  isWithinChannels,
  readAvailableFunds,
  rejectUnfunded,
  isNonceUsed,
} from "../chain/transfer-method.ts";
import type { Suspensions } from "../chain/suspensions.ts";
import { confirmsSignature, encodeSignatureCheck } from "../chain/token.ts";
import { createNonceChecks, nameNonce } from "./reused-nonces.ts";
import { createRecentVerdicts, createReservations } from "./verified-payments.ts";

export type PaymentChecks = ReturnType<typeof createPaymentChecks>;

export type PaymentCheckDependencies = Readonly<{
  chainAt: (location: CallLocation) => Chain;
  gas: GasLimits;
  shortage: (account?: Hex) => string | undefined;
  canPay: (gas: bigint) => boolean;
  suspensions: Pick<Suspensions, "reject">;
  clock: () => number;
  monotonicMs: () => number;
}>;

const openApproval: Rejection = {
  reason: reason.permit2Allowance,
  message:
    "another payment of this payer is awaiting settlement, and a signed approval is valid for only one payment; approve Permit2 on the token.",
};

/** Returns why no signer can pay for a seller's call with several claims, which only the seller can split. */
function rejectCostly(
  payment: SignedPayment,
  { gas, shortage, canPay }: Pick<PaymentCheckDependencies, "gas" | "shortage" | "canPay">,
): Rejection | undefined {
  const limit = gas.find(payment) ?? gas.most(payment);
  if (!isWithinChannels(payment) || shortage() !== undefined || canPay(limit)) return undefined;
  const message = `up to ${limit} gas costs more than any of the facilitator's accounts has; claim fewer vouchers at once.`;
  return { reason: reason.simulation, message };
}

export function createPaymentChecks(
  limits: Readonly<{ entriesMax: number }>,
  { chainAt, gas, shortage, canPay, suspensions, clock, monotonicMs }: PaymentCheckDependencies,
) {
  const recentVerdicts = createRecentVerdicts(limits, { monotonicMs });
  const reservations = createReservations(limits, { clock });
  const askWallet = createWalletCheck(limits, { monotonicMs });
  const nonces = createNonceChecks({ gas, clock });
  const chainFor = ({ waiting }: Caller) => chainAt({ line: "verifying", caller: "", ...waiting });
  const checkWallet = (payment: WalletSignedPayment, caller: Caller): Promise<Rejection | undefined> =>
    askWallet(payment, chainFor(caller));
  return {
    recent: recentVerdicts,
    /** Returns, on behalf of a caller, why a payment is not valid now or the chain would not accept it. */
    check: async (payment: SignedPayment, caller: Caller): Promise<Rejection | undefined> => {
      const timeRejection = rejectTime(payment.authorization, clock());
      if (timeRejection !== undefined) return timeRejection;
      // Otherwise, payments that can't be settled would be reported as valid.
      const why = shortage(getNamedSigner(payment));
      if (why !== undefined) throw new ChainError("rejected", `settlement is not available: ${why}`);
      const chain = chainFor(caller);
      return (await suspensions.reject(payment, chain)) ?? checkOnChain(payment, { chain, gas, nonces });
    },
    /** Like `check`, for a payment about to be settled, unless it was just checked. */
    checkAgain: async (payment: SignedPayment): Promise<Rejection | undefined> => {
      const chain = chainAt({ line: "settling", caller: "" });
      const rejection = rejectTime(payment.authorization, clock()) ?? (await suspensions.reject(payment, chain));
      if (rejection !== undefined || recentVerdicts.acquireGood(payment)) return rejection;
      return (await checkOnChain(payment, { chain, gas, nonces })) ?? rejectCostly(payment, { gas, shortage, canPay });
    },
    checkWallet,
    /** Checks a wallet's signature of a payment. If the payment creates the wallet (ERC-6492), the simulation decides. */
    checkSigner: async (payment: SignedPayment, caller: Caller): Promise<Rejection | undefined> => {
      if (payment.walletSignature === undefined) return undefined;
      const rejection = await checkWallet(payment, caller);
      const isCreated = rejection !== undefined && payment.contract === multicall3Address;
      return isCreated ? checkOnChain(payment, { chain: chainFor(caller), gas, nonces }) : rejection;
    },
    reserve: async (payment: SignedPayment, caller: Caller): Promise<Rejection | undefined> => {
      if (payment.max === undefined) return undefined;
      const amount = reservations.add(payment);
      if (amount > payment.max && approvesPermit2(payment.callData)) {
        reservations.release(payment);
        return openApproval;
      }
      const cover = await readAvailableFunds(payment, chainFor(caller)).catch((error: unknown) => {
        reservations.release(payment);
        throw error;
      });
      if (cover.balance >= amount) {
        reservations.trim();
        return undefined;
      }
      reservations.release(payment);
      return rejectUnfunded({ ...payment, amount }, cover);
    },
    releaseReservation: reservations.release,
    /** Learns from a settled payment whether its token rejects used nonces; without an answer from the node, from a later one. */
    recordSettled: (payment: SignedPayment): void => {
      nonces.observeSettled(payment, chainAt({ line: "verifying", caller: "" })).catch((error: unknown) => {
        if (!(error instanceof ChainError)) throw error;
      });
    },
    read: (call: Parameters<Chain["read"]>[0], caller: Caller): Promise<Hex> => chainFor(caller).read(call),
  };
}

type ChainCheckDependencies = Readonly<{ chain: Chain; gas: GasLimits; nonces: ReturnType<typeof createNonceChecks> }>;

/**
 * Checks on the chain whether a payment would settle now. One simulated call or estimate suffices for a good payment: the contract itself
 * checks balance, nonce, time and signature, and the result sets the transaction's gas limit. Only if it fails do further requests
 * determine the reason.
 *
 * @throws {ChainError} when the node doesn't respond.
 */
async function checkOnChain(
  payment: SignedPayment,
  { chain, gas, nonces }: ChainCheckDependencies,
): Promise<Rejection | undefined> {
  const [response, isReused] = await Promise.all([gas.simulate(payment, chain), nonces.isReused(payment, chain)]);
  if (isReused) return usedNonce;
  if (response.ok) return undefined;
  return (await diagnose(payment, chain)) ?? explainSimulation(response.error, gas.most(payment));
}

const usedNonce: Rejection = {
  reason: reason.nonceUsed,
  message: "the authorization was already used or cancelled; sign one with a new nonce.",
};

/**
 * Reads the balance after the same pending transactions as the simulation: a transfer among them may be why it failed. If this payment
 * itself is among them, the nonce isn't reported as used, because the transaction may still be dropped, but the simulation's message is
 * reported.
 */
async function diagnose(payment: SignedPayment, chain: Chain): Promise<Rejection | undefined> {
  const [isUsed, isPending, funds] = await Promise.all([
    isNonceUsed(nameNonce(payment), chain),
    isNonceUsed(nameNonce(payment), chain, "pending"),
    readAvailableFunds(payment, chain, "pending"),
  ]);
  if (isUsed) return usedNonce;
  return funds.balance < payment.amount && !isPending ? rejectUnfunded(payment, funds) : undefined;
}

function explainSimulation(error: JsonRpcFailure, gasLimit: bigint): Rejection {
  requireExecutionError(error);
  return {
    reason: reason.simulation,
    message: `the token rejects the transfer (with up to ${gasLimit} gas): ${error.message}.`,
  };
}

/** Min remaining validity of an authorization, so that a block can still include it; the same as in the reference implementation. */
const settlementMarginSeconds = 6n;

/**
 * Returns why an authorization is not valid at this time; undefined if it is. EIP-3009: valid strictly after `validAfter` and strictly
 * before `validBefore`, by block time.
 */
export function rejectTime(
  { validAfter, validBefore }: Pick<Authorization, "validAfter" | "validBefore">,
  nowMs: number,
): Rejection | undefined {
  const now = BigInt(Math.floor(nowMs / 1_000));
  if (validBefore < now + settlementMarginSeconds) {
    return {
      reason: reason.validBefore,
      message: `the authorization expires at ${validBefore}, it is now ${now}, and settling takes up to ${settlementMarginSeconds} s; sign a new one.`,
    };
  }
  if (validAfter >= now) {
    return {
      reason: reason.validAfter,
      message: `the authorization is valid from ${validAfter}, but it is now ${now}; wait.`,
    };
  }
  return undefined;
}

/** Max gas of a wallet's check; multi-owner or passkey signatures take a few hundred thousand. */
const checkGas = 1_000_000;

/** How long an account without code is not checked again; any client can invent signatures for it. */
const accountMs = 10_000;

export type WalletSignedPayment = Parameters<Transfers["checkWallet"]>[0];

/** Creates the check of a wallet's signature (ERC-1271): the payer's contract must confirm it. */
export function createWalletCheck(
  { entriesMax }: Readonly<{ entriesMax: number }>,
  { monotonicMs }: Readonly<{ monotonicMs: () => number }>,
): (payment: WalletSignedPayment, chain: Chain) => Promise<Rejection | undefined> {
  const accountsAtMs = new Map<string, number>();
  return async ({ id, contract, payer, walletSignature }, chain) => {
    if (walletSignature === undefined) return undefined;
    const account = payer.toLowerCase();
    const message = `the signature is not by ${payer}, or not for this token and chain.`;
    const rejection: Rejection = { reason: reason.signature, message };
    // A wallet created by a settlement (ERC-6492) may be deployed at any moment.
    const knownAtMs = contract === multicall3Address ? undefined : accountsAtMs.get(account);
    if (knownAtMs !== undefined && monotonicMs() - knownAtMs < accountMs) return rejection;
    const response = await chain.simulate({
      to: payer,
      data: encodeSignatureCheck(id, walletSignature),
      gas: checkGas,
    });
    if (!response.ok) {
      requireExecutionError(response.error);
      return { ...rejection, message: `the payer's wallet rejects the signature: ${response.error.message}.` };
    }
    if (confirmsSignature(response.result)) return undefined;
    if (response.result === "0x") retainNewest(accountsAtMs, account, monotonicMs(), entriesMax);
    return rejection;
  };
}
