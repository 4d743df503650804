import type { Refusal } from "#x402/reason.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import type { PaidBy, Suspensions } from "../payment/suspensions.ts";
import type { Chain } from "./chain.ts";
import { isWithinChannels } from "./transfer-method.ts";

/**
 * Returns why a payment is rejected now because of its parties' earlier ones; never for what sellers move within channels, which is
 * no payment.
 *
 * @throws {ChainError} when the node can't respond, and {StoreError} when the ledger can't.
 */
export async function refuseSuspended(
  payment: PaidBy,
  {
    suspensions,
    chain,
  }: Readonly<{
    suspensions: Pick<Suspensions, "refuse" | "refusesWallets" | "refuseWallet">;
    chain: Pick<Chain, "code">;
  }>,
): Promise<Refusal | undefined> {
  if (isWithinChannels(payment)) return undefined;
  const refusal = suspensions.refuse(payment);
  if (refusal !== undefined || !suspensions.refusesWallets()) return refusal;
  const code = await chain.code(payment.payer);
  const isWallet = code !== "0x" || payment.contract === multicall3Address;
  return isWallet ? suspensions.refuseWallet(payment, code) : undefined;
}
