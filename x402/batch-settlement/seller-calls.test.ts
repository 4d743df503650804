import { expect, test } from "vitest";
import { encodeInteger, type Hex } from "../hex.ts";
import type { Order, Transfers } from "../scheme.ts";
import type { SignedPayment } from "../signed-payment.ts";
import { createChannelStates } from "./channel-states.ts";
import { computeChannelId } from "./channel.ts";
import type { ChannelPayload } from "./payload.ts";
import { refundChannel } from "./seller-calls.ts";

const account = (byte: string): Hex => `0x${byte.repeat(20)}`;
const config = {
  payer: account("01"),
  payerAuthorizer: account("01"),
  receiver: account("03"),
  receiverAuthorizer: account("04"),
  token: account("05"),
  withdrawDelay: 900,
  salt: `0x${"00".repeat(32)}`,
} as const;
const requirements = {
  scheme: "batch-settlement",
  network: "eip155:1672" as const,
  amount: "0",
  asset: config.token,
  payTo: config.receiver,
  maxTimeoutSeconds: 60,
  extra: {},
};

test("a refund is the same settlement whenever it is requested, until it failed", async () => {
  const settled: Hex[] = [];
  const failed = new Set<Hex>();
  let nowMs = 0;
  const transfers = {
    assets: new Map([[config.token, {}]]),
    clock: () => nowMs,
    read: async () => `0x${[100n, 0n].map(encodeInteger).join("")}`,
    hasFailed: async (id: Hex) => failed.has(id),
    settle: async ({ id, payer }: SignedPayment) => {
      settled.push(id);
      return { answer: { state: "pending", transaction: "0xaa" }, payer };
    },
  } as unknown as Transfers;
  const payment = {
    type: "refund" as const,
    channelConfig: config,
    voucher: { channelId: computeChannelId(config, 1_672), maxClaimableAmount: 0n, signature: "0x12" },
    amount: 100n,
    refundNonce: 100n,
    claims: [],
    refundAuthorizerSignature: "0x34" as Hex,
  };
  const order = { payment, requirements, accepted: requirements, extensions: {} } as Order<
    Extract<ChannelPayload, { type: "refund" }>
  >;
  const states = createChannelStates();
  await refundChannel(order, transfers, states);
  nowMs = 86_400_000;
  await refundChannel(order, transfers, states);
  const [first, again] = settled;
  expect(again).toBe(first);
  failed.add(first ?? "0x");
  await refundChannel(order, transfers, states);
  expect(settled[2]).not.toBe(first);
});
