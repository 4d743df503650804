import type { SignedPayment } from "./pay-report.ts";
import { amountText } from "#x402/money.ts";
import { TokenReadError, type TokenReader } from "./token-reader.ts";

/** Says what a signed payment that got no resource may yet cost, and until when: asked of the chain where that is possible. */
export async function unfinishedPaymentText(payment: SignedPayment, tokens: TokenReader | undefined): Promise<string> {
  const { authorization, network, asset, decimals } = payment;
  const until = new Date(Number(authorization.validBefore) * 1_000).toISOString();
  const what = `The payment of ${amountText(BigInt(authorization.value), decimals)} of token ${asset} on ${network}`;
  const name = `account ${authorization.from}, nonce ${authorization.nonce}`;
  switch (await whetherTaken(payment, tokens)) {
    case true:
      return `${what} was charged (${name}). Ask the seller for what you paid for; paying again is charged again.`;
    case false:
      return `${what} is not charged so far, and can be charged until ${until} (${name}). Pay again only after that.`;
    case undefined:
      return (
        `${what} may have been charged, or may be until ${until} (${name}). Before you pay again, see whether the token has taken that nonce ` +
        "(authorizationState); --rpc-url has this command look."
      );
  }
}

async function whetherTaken(
  { authorization, network, asset }: SignedPayment,
  tokens: TokenReader | undefined,
): Promise<boolean | undefined> {
  try {
    return await tokens?.hasTaken({ network, address: asset }, authorization);
  } catch (error) {
    if (error instanceof TokenReadError) return undefined;
    throw error;
  }
}
