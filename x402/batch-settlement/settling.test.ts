import { expect, test } from "vitest";
import type { SettleResult } from "../payment-result.ts";
import { encodeInteger, zeroAddress, type Hex } from "../hex.ts";
import type { Order, Transfers } from "../scheme.ts";
import { buildOrder, config } from "../testing/sample-channel.ts";
import { computeChannelId } from "./channel.ts";
import type { ChannelPayload } from "./payload.ts";
import { createChannelSettling } from "./settling.ts";

const token = { address: config.token, name: "USDC", version: "2", separator: `0x${"00".repeat(32)}` } as const;
const channelConfig = { ...config, payerAuthorizer: zeroAddress };
const terms = { name: token.name, version: token.version, receiverAuthorizer: config.receiverAuthorizer };
const payment = {
  type: "deposit",
  channelConfig,
  voucher: { channelId: computeChannelId(channelConfig, 1_672), maxClaimableAmount: 10n, signature: "0x12" },
  deposit: {
    amount: 100n,
    authorization: { erc3009Authorization: { validAfter: 0n, validBefore: 2n ** 40n, salt: 1n, signature: "0x34" } },
  },
} as const;
const order = buildOrder<ChannelPayload>(payment, terms);
const transaction: Hex = "0xaa";

const failToAsk = () => Promise.reject(new Error("the node is not reached"));

type Terms = Parameters<Transfers["rejectTerms"]>[0];

const createTransfers = (changes: object) =>
  ({
    assets: new Map([[token.address, token]]),
    contracts: { has: () => true },
    isSigned: () => false,
    rejectTerms: async ({ unserved, deposits }: Terms) => (deposits === undefined ? unserved : undefined),
    rejectRefund: () => undefined,
    checkWallet: async () => ({ reason: "invalid_exact_evm_signature", message: "the wallet rejects the signature" }),
    clock: () => 0,
    progress: async () => "begun",
    read: async () => `0x${[100n, 0n].map(encodeInteger).join("")}`,
    settle: async () => ({
      result: { state: "settled", transaction } satisfies SettleResult,
      payer: channelConfig.payer,
    }),
    ...changes,
  }) as unknown as Transfers;

/** Settles the deposit of a contract wallet that rejects its voucher. */
const settleDeposit = (changes: object) => createChannelSettling().settle(order, createTransfers(changes));

test("returns the outcome of a deposit in progress even if its wallet now rejects the voucher", async () => {
  expect(await settleDeposit({})).toMatchObject({ result: { state: "settled" }, reported: { amount: "100" } });
  expect(await settleDeposit({ checkWallet: failToAsk })).toMatchObject({ result: { state: "settled" } });
});

test("returns the outcome of a copy that starts during the voucher's check", async () => {
  for (const says of [() => Promise.resolve({ reason: "rejected" }), failToAsk]) {
    let isRequested = false;
    const checkWallet = () => {
      isRequested = true;
      return says();
    };
    const progress = async () => (isRequested ? "begun" : undefined);
    expect(await settleDeposit({ checkWallet, progress })).toMatchObject({ result: { state: "settled" } });
  }
});

test("rejects a new deposit with an invalid voucher", async () => {
  expect(await settleDeposit({ progress: async () => undefined })).toMatchObject({
    result: { state: "rejected", rejection: { reason: "invalid_batch_settlement_evm_voucher_signature" } },
  });
});

test("returns pending for a settled deposit while its channel can't be read", async () => {
  expect(await settleDeposit({ read: failToAsk })).toMatchObject({ result: { state: "pending", transaction } });
});

test.each([
  ["voucher", { result: { state: "rejected", rejection: { reason: "invalid_payment_requirements" } } }],
  ["refund", { result: { state: "valid" } }],
] as const)("verifies a %s of an open channel in a removed token", async (type, verdict) => {
  const sent = { ...order, payment: { type, channelConfig, voucher: payment.voucher } } as Order<ChannelPayload>;
  const transfers = createTransfers({ checkWallet: async () => undefined, assets: new Map() });
  expect(await createChannelSettling().verify(sent, transfers)).toMatchObject(verdict);
});
