import type { PayOutcome } from "./exit-status.ts";
import { readPrice, type SignedPayment } from "./signed-payment.ts";
import { type NonceState, type TokenReader, TokenReadError } from "./token-reader.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { formatAmount } from "#x402/token-amount.ts";
import { locatePermit2Nonce } from "#x402/transfer-payload.ts";

type UnfinishedPayment = Readonly<{ end: PayOutcome; text: string }>;

/**
 * Describes what a signed but undelivered payment may still cost, until when, and how to check; queries the chain if possible. `end` is the
 * outcome that the server's response shows; the chain overrides it.
 */
export async function describeUnfinishedPayment(
  payment: SignedPayment,
  { end, tokens }: Readonly<{ end: PayOutcome; tokens: TokenReader | undefined }>,
): Promise<UnfinishedPayment> {
  const { authorization, network, asset, decimals } = payment;
  const what = `The payment of ${formatAmount(BigInt(readPrice(payment)), decimals)} of token ${asset} on ${network}`;
  const name = `account ${authorization.from}, nonce ${authorization.nonce}`;
  // A channel's vouchers are the only payments without an expiry.
  if (authorization.channel !== undefined) {
    const { deposit } = authorization.channel;
    const made = deposit === undefined ? "" : ` after a deposit of ${formatAmount(BigInt(deposit), decimals)}`;
    const text =
      `${what} through channel ${authorization.nonce}${made} may have been or may still be charged. ` +
      "If you pay through it again, the seller reports what it charged before; if it charged this payment, you buy twice.";
    return { end, text };
  }
  const until = new Date(Number(authorization.validBefore) * 1_000).toISOString();
  switch (await readNonceState(payment, tokens)) {
    case "used":
      return {
        end: "perhaps-paid",
        text: `${what} was charged (${name}). Ask the seller for the resource; paying again charges you again.`,
      };
    case "expired":
      return {
        end: "not-delivered",
        text: `${what} expired at ${until} and was never charged (${name}). You can pay again.`,
      };
    case "unused":
      return {
        end,
        text: `${what} is not charged yet, but can be until ${until} (${name}). ${describeCheck(payment, until)}`,
      };
    case undefined:
      return {
        end,
        text: `${what} may have been charged, or may still be until ${until} (${name}). ${describeCheck(payment, until)}`,
      };
  }
}

function describeCheck({ authorization, asset }: SignedPayment, until: string): string {
  const { from, nonce, method } = authorization;
  const { word, bit } = locatePermit2Nonce(nonce);
  const [call, charged, unused] =
    method === "permit2"
      ? [
          `${canonicalContracts.permit2.address} "nonceBitmap(address,uint256)(uint256)" ${from} ${word}`,
          `a number whose bit ${bit} is 1`,
          "0",
        ]
      : [`${asset} "authorizationState(address,bytes32)(bool)" ${from} ${nonce}`, "true", "false"];
  return (
    `Check before you pay again: once the chain has a block later than ${until}, \`cast call ${call} --rpc-url <url>\` ` +
    `prints ${charged} if you were charged (ask the seller for the resource), ${unused} if you were not and never will be (pay again).`
  );
}

async function readNonceState(
  { authorization, network, asset }: SignedPayment,
  tokens: TokenReader | undefined,
): Promise<NonceState | undefined> {
  try {
    return await tokens?.nonceState({ network, address: asset }, authorization);
  } catch (error) {
    if (error instanceof TokenReadError) return undefined;
    throw error;
  }
}
