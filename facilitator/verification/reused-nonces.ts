import { chainClockDifferenceMaxMs } from "#daemon/clock.ts";
import { isSameHex } from "#x402/hex.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import type { Chain } from "../chain/chain.ts";
import { requireExecutionError } from "../chain/chain-error.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import { isNonceUsed, readAvailableFunds } from "../chain/transfer-method.ts";

/**
 * Creates the check for used nonces. Some tokens accept a used authorization without a transfer, which a simulation doesn't show. So a
 * payment's nonce is read as well, until its token was seen to reject a used one. Permit2 and the channels' contract reject them.
 */
export function createNonceChecks({ gas, clock }: Readonly<{ gas: Pick<GasLimits, "most">; clock: () => number }>) {
  /** Tokens that reject used nonces, in lower case; at most the accepted ones. */
  const strictTokens = new Set<string>();
  const observedTokens = new Set<string>();
  const isStrict = ({ asset }: SignedPayment) => strictTokens.has(asset.toLowerCase());
  const observe = async (payment: SignedPayment, chain: Chain): Promise<void> => {
    const { asset, contract: to, callData: data, payer, payTo: from, amount, authorization } = payment;
    const [response, isUsed, { balance }, code] = await Promise.all([
      chain.simulate({ from, to, data, gas: Number(gas.most(payment)) }),
      isNonceUsed(nameNonce(payment), chain),
      readAvailableFunds(payment, chain, "pending"),
      chain.code(payer),
    ]);
    const mayHaveExpired = Number(authorization.validBefore) * 1_000 <= clock() + chainClockDifferenceMaxMs;
    if (response.ok || mayHaveExpired || !isUsed || balance < amount || code !== "0x") return;
    requireExecutionError(response.error);
    strictTokens.add(asset.toLowerCase());
  };
  return {
    isReused: async (payment: SignedPayment, chain: Pick<Chain, "read">): Promise<boolean> =>
      (isSameHex(payment.contract, payment.asset) || payment.contract === multicall3Address) &&
      !isStrict(payment) &&
      isNonceUsed(nameNonce(payment), chain),
    /**
     * Simulates a settled payment again: if the used nonce is the only possible cause of a failure, the token is strict.
     *
     * @throws {ChainError} when the node doesn't respond.
     */
    observeSettled: async (payment: SignedPayment, chain: Chain): Promise<void> => {
      const token = payment.asset.toLowerCase();
      if (isStrict(payment) || observedTokens.has(token) || !isSameHex(payment.contract, payment.asset)) return;
      observedTokens.add(token);
      await observe(payment, chain).finally(() => observedTokens.delete(token));
    },
  };
}

export function nameNonce(payment: SignedPayment): Parameters<typeof isNonceUsed>[0] {
  return { ...payment, authorizationNonce: payment.authorization.nonce };
}
