import { expect, test } from "vitest";
import {
  channelsAddress,
  encodeClaims,
  encodeDeposit,
  encodeRefund,
  encodeSettle,
} from "#x402/batch-settlement/channel.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { encodeInteger, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import type { ContractLog, Receipt } from "./chain.ts";
import { authorizationUsedTopic, transferTopic } from "./token.ts";
import type { Settlement } from "../settlement/settlement.ts";
import { getNonceSpace, isNonceUsed, showsAuthorizedTransfer, showsTransfer } from "./transfer-method.ts";

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

function transfer(to: Hex = payTo, value = 10_000n): ContractLog {
  return {
    address,
    topics: [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(to)],
    data: `0x${encodeInteger(value)}`,
  };
}

function use(nonce: Hex = authorizationNonce): ContractLog {
  return { address, topics: [authorizationUsedTopic, encodeAddressTopic(payer), nonce], data: "0x" };
}

function receipt(...logs: ContractLog[]): Receipt {
  return { status: 1, blockNumber: 1, transactionHash: `0x${"aa".repeat(32)}`, gasUsed: 65_000n, logs };
}

test("accepts our own transaction by its transfer log alone", () => {
  expect(showsTransfer(receipt(use(), transfer()), settlement)).toBe(true);
  expect(showsTransfer(receipt(transfer(payer)), settlement)).toBe(false);
  expect(showsTransfer(receipt(transfer(payTo, 1n)), settlement)).toBe(false);
  expect(showsTransfer(receipt({ ...transfer(), address: payer }), settlement)).toBe(false);
});

test("in a foreign transaction, requires the authorization's use right before the transfer", () => {
  const otherNonce: Hex = `0x${"0d".repeat(32)}`;
  expect(showsAuthorizedTransfer(receipt(use(), transfer()), settlement)).toBe(true);
  expect(showsAuthorizedTransfer(receipt(transfer()), settlement)).toBe(false);
  const disguisedReceipt = receipt(use(), transfer(payer, 1n), use(otherNonce), transfer());
  expect(showsAuthorizedTransfer(disguisedReceipt, settlement), "the payment belongs to another authorization").toBe(
    false,
  );
});

test("accepts a deposit by the transfer to its collector, and a refund or settle by the contract's transfer", async () => {
  const collector = canonicalContracts.erc3009Collector.address;
  const config = {
    payer,
    payerAuthorizer: payer,
    receiver: payTo,
    receiverAuthorizer: payTo,
    token: settlement.asset,
    withdrawDelay: 900,
    salt: authorizationNonce,
  };
  const call = (callData: Hex): Settlement => ({ ...settlement, contract: channelsAddress, callData });
  const authorization = { validAfter: 0n, validBefore: 1n, salt: 1n, signature: "0x" } as const;
  const deposit = call(encodeDeposit(config, 10_000n, { collector: "erc3009Collector", ...authorization }));
  expect(showsTransfer(receipt(use(), transfer(collector)), deposit)).toBe(true);
  expect(showsTransfer(receipt(use(), transfer(payTo)), deposit)).toBe(false);
  expect(showsAuthorizedTransfer(receipt(use(), transfer(collector)), deposit)).toBe(true);
  expect(getNonceSpace(deposit)).toBe(settlement.asset);

  const paidBy = (to: Hex): ContractLog => ({
    ...transfer(to, 7n),
    topics: [transferTopic, encodeAddressTopic(channelsAddress), encodeAddressTopic(to)],
  });
  const settle = call(encodeSettle(payTo, settlement.asset));
  const refund = call(encodeRefund({ config, amount: 1n, nonce: 0n, signature: "0x" }, encodeClaims([], "0x")));
  expect([settle, refund].map((each) => showsTransfer(receipt(paidBy(payTo)), each))).toEqual([true, false]);
  expect([settle, refund].map((each) => showsTransfer(receipt(paidBy(payer)), each))).toEqual([false, true]);
  expect([settle, refund].map((each) => showsTransfer(receipt(transfer()), each))).toEqual([false, false]);
  const noChain = { read: () => Promise.reject(new TypeError("it uses no payer's nonce")) };
  expect(await isNonceUsed(refund, noChain)).toBe(false);
});
