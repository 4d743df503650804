import { expect, test } from "vitest";
import { encodeInteger, type Hex } from "#x402/hex.ts";
import type { EventLog, Receipt } from "./chain.ts";
import { encodeAddressTopic, authorizationUsedTopic, transferTopic } from "./token.ts";
import type { Settlement } from "../settlement/settlement.ts";
import { showsAuthorizedTransfer, showsTransfer } from "./transfer-method.ts";

const settlement: Settlement = {
  id: `0x${"1d".repeat(32)}`,
  asset: "0xA5a5A5a5A5a5A5a5A5a5A5a5A5a5A5a5A5a5A5a5",
  contract: "0xA5a5A5a5A5a5A5a5A5a5A5a5A5a5A5a5A5a5A5a5",
  payer: `0x${"01".repeat(20)}`,
  payTo: `0x${"02".repeat(20)}`,
  amount: 10_000n,
  authorizationNonce: `0x${"0c".repeat(32)}`,
  validBefore: 0n,
  callData: "0x",
  begunAtMs: 0,
  owner: "somebody",
};
const { payer, payTo, authorizationNonce } = settlement;
const address = settlement.asset.toLowerCase() as Hex;

function transfer(to: Hex = payTo, value = 10_000n): EventLog {
  return {
    address,
    topics: [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(to)],
    data: `0x${encodeInteger(value)}`,
  };
}

function use(nonce: Hex = authorizationNonce): EventLog {
  return { address, topics: [authorizationUsedTopic, encodeAddressTopic(payer), nonce], data: "0x" };
}

function receipt(...logs: EventLog[]): Receipt {
  return { status: 1, blockNumber: 1, transactionHash: `0x${"aa".repeat(32)}`, gasUsed: 65_000n, logs };
}

test("a transaction of ours is proven by the transfer, whatever else the token returns", () => {
  expect(showsTransfer(receipt(use(), transfer()), settlement)).toBe(true);
  expect(showsTransfer(receipt(transfer(payer)), settlement)).toBe(false);
  expect(showsTransfer(receipt(transfer(payTo, 1n)), settlement)).toBe(false);
  expect(showsTransfer(receipt({ ...transfer(), address: payer }), settlement)).toBe(false);
});

test("a foreign transaction has to show this authorization's use and right after it the transfer", () => {
  const otherNonce: Hex = `0x${"0d".repeat(32)}`;
  expect(showsAuthorizedTransfer(receipt(use(), transfer()), settlement)).toBe(true);
  expect(showsAuthorizedTransfer(receipt(transfer()), settlement)).toBe(false);
  const disguised = receipt(use(), transfer(payer, 1n), use(otherNonce), transfer());
  expect(showsAuthorizedTransfer(disguised, settlement), "the payment belongs to another authorization").toBe(false);
});
