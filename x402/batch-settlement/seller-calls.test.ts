import { expect, test } from "vitest";
import { reject, type SettleResult } from "../payment-result.ts";
import { encodeInteger, type Hex } from "../hex.ts";
import type { Transfers } from "../scheme.ts";
import type { SignedPayment } from "../signed-payment.ts";
import { buildOrder, config, id as channelId } from "../testing/sample-channel.ts";
import { createChannelStates } from "./channel-states.ts";
import { refundChannel } from "./seller-calls.ts";

/** Requests a refund of a channel that has 100 units, none of them claimed, and whose next refund is number 100. */
function openScene() {
  const scene = {
    nowMs: 0,
    settled: [] as Hex[],
    assets: new Map<string, object>([[config.token, {}]]),
    recorded: new Map<Hex, string>(),
    balance: 100n,
    result: { state: "pending", transaction: "0xaa" } as SettleResult,
  };
  const transfers = {
    assets: scene.assets,
    rejectRefund: () => undefined,
    clock: () => scene.nowMs,
    read: async ({ data }: { data: Hex }) =>
      `0x${[data.startsWith("0x7a7ebd7b") ? scene.balance : 100n, 0n].map(encodeInteger).join("")}`,
    progress: async (id: Hex) => scene.recorded.get(id),
    settle: async ({ id, payer, unserved }: SignedPayment) => {
      scene.settled.push(id);
      const isNew = !scene.recorded.has(id);
      return isNew && unserved !== undefined ? reject(unserved, payer) : { result: scene.result, payer };
    },
  } as unknown as Transfers;
  const payment = {
    type: "refund" as const,
    channelConfig: config,
    voucher: { channelId, maxClaimableAmount: 0n, signature: "0x12" },
    amount: 100n,
    refundNonce: 100n,
    claims: [],
    refundAuthorizerSignature: "0x34" as Hex,
  };
  return { scene, refund: () => refundChannel(buildOrder(payment), transfers, createChannelStates()) };
}

test("repeats a refund as the same settlement until it has failed", async () => {
  const { scene, refund } = openScene();
  await refund();
  scene.nowMs = 86_400_000;
  await refund();
  const [first = "0x", again] = scene.settled;
  expect(again).toBe(first);
  scene.recorded.set(first, "failed");
  await refund();
  expect(scene.settled[2]).not.toBe(first);
});

test("keeps a refund in flight pending although the balance already excludes it", async () => {
  const { scene, refund } = openScene();
  await refund();
  scene.balance = 0n;
  expect(await refund()).toMatchObject({ result: { state: "rejected" } });
  scene.recorded.set(scene.settled[0] ?? "0x", "begun");
  expect(await refund()).toMatchObject({ result: { state: "pending" } });
});

test("reports a refund's amount even if the node queried afterwards hasn't seen it yet", async () => {
  const { scene, refund } = openScene();
  scene.result = { state: "settled", transaction: "0xaa", amount: 100n };
  expect(await refund()).toMatchObject({ reported: { amount: "100" } });
});

test("rejects a refund in a removed token only if it is new", async () => {
  const { scene, refund } = openScene();
  scene.assets.clear();
  expect(await refund()).toMatchObject({ result: { rejection: { reason: "invalid_payment_requirements" } } });
  scene.recorded.set(scene.settled[0] ?? "0x", "begun");
  expect(await refund()).toMatchObject({ result: { state: "pending" } });
});
