import type { Hex } from "#x402/hex.ts";
import { logBlocksMax, type Chain } from "./chain.ts";
import { authorizationCanceledTopic, authorizationUsedTopic, encodeAddressTopic } from "./token.ts";

/** EIP-3009 authorization, as its token identifies it. */
export type AuthorizationId = Readonly<{ asset: Hex; payer: Hex; authorizationNonce: Hex }>;

/** Builds the topics of the event that an authorization was used. */
export function buildAuthorizationUseTopics({ payer, authorizationNonce }: AuthorizationId): readonly [Hex, Hex, Hex] {
  return [authorizationUsedTopic, encodeAddressTopic(payer), authorizationNonce];
}

/** Max queries for the use of one authorization. */
const queriesMax = 10;

/** Finds the transaction that used or cancelled an authorization. */
export async function findAuthorizationUse(
  authorization: AuthorizationId,
  headNumber: number,
  chain: Pick<Chain, "recentLogs">,
): Promise<Hex | undefined> {
  const [used, ...which] = buildAuthorizationUseTopics(authorization);
  const topics = [[used, authorizationCanceledTopic], ...which];
  for (let query = 0; query < queriesMax && headNumber >= query * logBlocksMax; query += 1) {
    const uses = await chain.recentLogs(authorization.asset, topics, headNumber - query * logBlocksMax);
    if (uses.length > 0) return uses.at(-1)?.transactionHash;
  }
  return undefined;
}
