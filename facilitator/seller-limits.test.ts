import { expect, test } from "vitest";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { createSellerLimits } from "./seller-limits.ts";
import type { Sales } from "./settlement/ledger/sales.ts";

const asset = `0x${"0a".repeat(20)}` as const;

test("rejects settling less than a seller's min amount of a larger signed max", async () => {
  const sellers = new Map([["alice", { name: "alice", assets: [{ address: asset, minAmount: 500 }] }]]);
  const dependencies = { sales: {} as Sales, clock: () => 0, settlementCost: () => 1n };
  const { refuse } = createSellerLimits({ network: "eip155:1", sellers }, dependencies);
  const settle = (amount: bigint) =>
    refuse({ asset, amount, max: 1_000n } as SignedPayment, { kind: "seller", owner: "alice", seller: "alice" });
  expect(await settle(499n)).toMatchObject({
    reason: "invalid_payment_requirements",
    message: expect.stringMatching(/has minAmount 500 .*; charge more, or 0, which settles nothing\.$/),
  });
  expect(await settle(500n)).toBeUndefined();
});
