import type { Hex } from "#x402/hex.ts";
import { permit2Address } from "#x402/permit2.ts";
import { locatePermit2Nonce } from "#x402/permit2-payload.ts";
import type { Chain } from "./chain.ts";
import { encodeAddressTopic, nonceInvalidationTopic } from "./token.ts";

/** Finds a recent transaction in which a payer cancelled a nonce of Permit2. Its use for a payment logs no such event. */
export async function findPermit2Cancellation(
  { payer, authorizationNonce }: Readonly<{ payer: Hex; authorizationNonce: Hex }>,
  headNumber: number,
  chain: Pick<Chain, "recentLogs">,
): Promise<Hex | undefined> {
  const nonce = locatePermit2Nonce(authorizationNonce);
  const logs = await chain.recentLogs(permit2Address, [nonceInvalidationTopic, encodeAddressTopic(payer)], headNumber);
  const isCancelled = (data: Hex) => {
    const [word, mask] = [BigInt(data.slice(0, 66)), BigInt(`0x${data.slice(66)}`)];
    return word === nonce.word && (mask & nonce.mask) !== 0n;
  };
  return logs.findLast(({ data }) => data.length === 130 && isCancelled(data))?.transactionHash;
}
