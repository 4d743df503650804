import type { EventLog, Receipt } from "../../chain/chain.ts";
import { addressTopic, authorizationUsedTopic, transferTopic } from "../../chain/token.ts";
import type { Hex } from "#x402/hex.ts";
import type { Settlement } from "../settlement.ts";

/** Whether a receipt of a transaction of ours shows the transfer that the settlement is about. */
export function showsTransfer(receipt: Receipt, settlement: Settlement): boolean {
  return receipt.logs.some((log) => isTransfer(log, settlement));
}

/**
 * Whether a foreign transaction carried out this very authorization: the token tells of the authorization's use right before it
 * tells of the transfer. A transfer elsewhere in the transaction may belong to another authorization of the same payer.
 */
export function showsAuthorizedTransfer(receipt: Receipt, settlement: Settlement): boolean {
  return receipt.logs.some((log, index) => {
    const next = receipt.logs[index + 1];
    return isAuthorizationUse(log, settlement) && next !== undefined && isTransfer(next, settlement);
  });
}

/** Topics by which the use of a settlement's authorization is found. */
export function authorizationUseTopics({ payer, authorizationNonce }: Settlement): readonly Hex[] {
  return [authorizationUsedTopic, addressTopic(payer), authorizationNonce];
}

function isTransfer({ address, topics, data }: EventLog, { asset, payer, payTo, amount }: Settlement): boolean {
  return (
    sameHex(address, asset) &&
    sameTopics(topics, [transferTopic, addressTopic(payer), addressTopic(payTo)]) &&
    data.length === 66 &&
    BigInt(data) === amount
  );
}

function isAuthorizationUse({ address, topics }: EventLog, settlement: Settlement): boolean {
  return sameHex(address, settlement.asset) && sameTopics(topics, authorizationUseTopics(settlement));
}

function sameTopics(found: readonly Hex[], expected: readonly Hex[]): boolean {
  return found.length === expected.length && expected.every((topic, index) => sameHex(topic, found[index]));
}

function sameHex(a: Hex, b: Hex | undefined): boolean {
  return a.toLowerCase() === b?.toLowerCase();
}
