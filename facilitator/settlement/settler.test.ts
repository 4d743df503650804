import { expect, test } from "vitest";
import { sampleMs, sampleSettlement } from "../testing/sample-settlement.ts";
import type { SettlementContext } from "./context.ts";
import { createInFlightSettlements } from "./settlement.ts";
import { createSettler } from "./settler.ts";

const { asset, contract, payer, payTo, id, callData } = sampleSettlement;
const authorization = { validAfter: 0n, validBefore: 4_000_000_000n, nonce: sampleSettlement.authorizationNonce };
const unusedPayment = { id, callData, asset, contract, payer, payTo, amount: 0n, authorization };

test.each([
  ["nothing is recorded", undefined, { state: "unused" }],
  ["another amount is being settled", { state: "begun", owner: "a sale" }, { state: "pending", transaction: "" }],
])("signs no transaction for an amount of zero if %s", async (_, recorded, expected) => {
  const sentPayments: unknown[] = [];
  const context = {
    check: async () => undefined,
    clock: () => sampleMs,
    settlement: { inFlightMax: 10, receiptTimeoutMs: 1_000 },
    pause: () => new Promise(() => undefined),
    signal: new AbortController().signal,
  };
  const parts = {
    book: createInFlightSettlements({ clock: () => sampleMs, monotonicMs: () => sampleMs }),
    funds: { open: () => ({ reserve: async () => undefined, [Symbol.dispose]: () => undefined }) },
    ledger: { progress: async () => recorded, hasConflict: async () => false },
    ownership: { acquire: async () => true },
    queues: { submit: (entries: readonly unknown[]) => sentPayments.push(...entries) },
  };
  const settler = createSettler(
    context as unknown as SettlementContext,
    parts as unknown as Parameters<typeof createSettler>[1],
  );
  expect(await settler.settle(unusedPayment, { kind: "sale", owner: "a sale" })).toEqual(expected);
  expect(sentPayments).toEqual([]);
});
