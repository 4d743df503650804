import { keepNewest } from "../payment/recent-verdicts.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import type { Chain } from "./chain.ts";
import { confirmsSignature, encodeSignatureCheck } from "./token.ts";

/** Max gas of a wallet's check; signatures of several owners or by passkeys take a few hundred thousand. */
const checkGas = 1_000_000;

/** Time for which an account without code is not asked again: any client can invent signatures for it. */
const accountMs = 10_000;

/** Checks signatures that no key of the payer made. */
export type WalletCheck = (
  payment: Pick<SignedPayment, "id" | "contract" | "payer" | "walletSignature">,
  chain: Pick<Chain, "simulate">,
) => Promise<Refusal | undefined>;

/**
 * Creates the check of a wallet's signature (ERC-1271): the payer's contract must confirm it.
 */
export function createWalletCheck(
  { entriesMax }: Readonly<{ entriesMax: number }>,
  { monotonicMs }: Readonly<{ monotonicMs: () => number }>,
): WalletCheck {
  const accountsAtMs = new Map<string, number>();
  return async ({ id, contract, payer, walletSignature }, chain) => {
    if (walletSignature === undefined) return undefined;
    const account = payer.toLowerCase();
    const message = `the signature is not by ${payer}, or not for this token and chain.`;
    const refusal: Refusal = { reason: reason.signature, message };
    // One that a settlement creates (ERC-6492) may exist at any moment.
    const knownAtMs = contract === multicall3Address ? undefined : accountsAtMs.get(account);
    if (knownAtMs !== undefined && monotonicMs() - knownAtMs < accountMs) return refusal;
    const answer = await chain.simulate({ to: payer, data: encodeSignatureCheck(id, walletSignature), gas: checkGas });
    if (!answer.ok)
      return { ...refusal, message: `the payer's wallet rejects the signature: ${answer.error.message}.` };
    if (confirmsSignature(answer.result)) return undefined;
    if (answer.result === "0x") keepNewest(accountsAtMs, account, monotonicMs(), entriesMax);
    return refusal;
  };
}
