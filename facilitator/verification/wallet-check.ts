import { retainNewest } from "#daemon/memoize.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { Transfers } from "#x402/scheme.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import { requireExecutionError } from "../chain/chain-error.ts";
import type { Chain } from "../chain/chain.ts";
import { confirmsSignature, encodeSignatureCheck } from "../chain/token.ts";

/** Max gas of a wallet's check; signatures of several owners or by passkeys take a few hundred thousand. */
const checkGas = 1_000_000;

/** Time for which an account without code is not checked again: any client can invent signatures for it. */
const accountMs = 10_000;

/** A payment whose signature only the payer's wallet can check. */
export type WalletSigned = Parameters<Transfers["checkWallet"]>[0];

/** Creates the check of a wallet's signature (ERC-1271): the payer's contract must confirm it. */
export function createWalletCheck(
  { entriesMax }: Readonly<{ entriesMax: number }>,
  { monotonicMs }: Readonly<{ monotonicMs: () => number }>,
): (payment: WalletSigned, chain: Chain) => Promise<Refusal | undefined> {
  const accountsAtMs = new Map<string, number>();
  return async ({ id, contract, payer, walletSignature }, chain) => {
    if (walletSignature === undefined) return undefined;
    const account = payer.toLowerCase();
    const message = `the signature is not by ${payer}, or not for this token and chain.`;
    const refusal: Refusal = { reason: reason.signature, message };
    // A wallet created by a settlement (ERC-6492) may be deployed at any moment.
    const knownAtMs = contract === multicall3Address ? undefined : accountsAtMs.get(account);
    if (knownAtMs !== undefined && monotonicMs() - knownAtMs < accountMs) return refusal;
    const answer = await chain.simulate({ to: payer, data: encodeSignatureCheck(id, walletSignature), gas: checkGas });
    if (!answer.ok) {
      requireExecutionError(answer.error);
      return { ...refusal, message: `the payer's wallet rejects the signature: ${answer.error.message}.` };
    }
    if (confirmsSignature(answer.result)) return undefined;
    if (answer.result === "0x") retainNewest(accountsAtMs, account, monotonicMs(), entriesMax);
    return refusal;
  };
}
