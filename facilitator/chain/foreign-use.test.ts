import { expect, test } from "vitest";
import { encodeInteger, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import { permit2Address, permit2Proxies } from "#x402/permit2.ts";
import { sampleSettlement } from "../testing/sample-settlement.ts";
import { logBlocksMax, type Chain, type Receipt } from "./chain.ts";
import { nonceInvalidationTopic, transferTopic } from "./token.ts";
import { findForeignUse } from "./foreign-use.ts";

const transactionHash: Hex = `0x${"cc".repeat(32)}`;
const receipt: Receipt = { status: 1, blockNumber: 90, transactionHash, gasUsed: 1n, logs: [] };
const nonce = 0x5_03n;

/** A chain on which the payer cancelled the Permit2 nonces that the mask selects in a word. */
function createChain(word: bigint, mask: bigint): Pick<Chain, "recentLogs" | "receipt" | "transactionCall"> {
  return {
    recentLogs: async (contract, topics) => {
      if (topics[0] !== nonceInvalidationTopic) return [];
      expect([contract, topics[1]]).toEqual([permit2Address, encodeAddressTopic(sampleSettlement.payer)]);
      const data: Hex = `0x${encodeInteger(word)}${encodeInteger(mask)}`;
      return [{ address: permit2Address, topics: [], data, transactionHash }];
    },
    receipt: async () => receipt,
    transactionCall: async () => undefined,
  };
}

test.each([
  ["alone", 5n, 8n, true],
  ["among other nonces", 5n, 0xffn, true],
  ["with another mask", 5n, 7n, false],
  ["in another word", 6n, 8n, false],
])("looks up the cancellation of a Permit2 nonce %s", async (_how, word, mask, isFound) => {
  for (const contract of [permit2Proxies.exact, permit2Proxies.upto]) {
    const settlement = { ...sampleSettlement, contract, authorizationNonce: `0x${encodeInteger(nonce)}` as const };
    const foreignUse = await findForeignUse(settlement, 100, createChain(word, mask));
    expect(foreignUse).toEqual(isFound ? { receipt, isPaid: false } : undefined);
  }
});

test("finds a third party's Permit2 settlement hundreds of blocks back", async () => {
  const { payer, payTo, amount, asset, callData } = sampleSettlement;
  const settlement = { ...sampleSettlement, contract: permit2Proxies.exact };
  const topics = [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(payTo)];
  const log = { address: asset, topics, data: `0x${encodeInteger(amount)}` as const, transactionHash };
  const [headNumber, blockNumber] = [1_000, 90];
  const chain: Parameters<typeof findForeignUse>[2] = {
    recentLogs: async (_, [topic], newest) =>
      topic === transferTopic && newest >= blockNumber && newest - logBlocksMax < blockNumber ? [log] : [],
    receipt: async () => receipt,
    transactionCall: async () => ({ to: permit2Proxies.exact, input: callData }),
  };
  expect(await findForeignUse(settlement, headNumber, chain)).toEqual({ receipt, isPaid: true });
});
