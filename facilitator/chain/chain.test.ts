import { expect, test } from "vitest";
import { createChain, readSendOutcome } from "./chain.ts";

test.each([
  ["already known", "accepted"],
  ["transaction already imported", "accepted"],
  ["nonce too low: next nonce 5, tx nonce 4", "nonce_taken"],
  ["replacement transaction underpriced", "nonce_taken"],
  ["Insufficient funds for gas * price + value", "rejected"],
  ["intrinsic gas too low", "rejected"],
  ["Failed to decode transaction", "rejected"],
  ["txpool is full", "unknown"],
  ["daily request count exceeded, request rate limited", "unknown"],
  ["Internal error", "unknown"],
])('classifies the error "%s" as %s', (message, kind) => {
  expect(readSendOutcome({ ok: false, error: { code: -32_000, message } }).kind).toBe(kind);
});

test("classifies a transaction hash as accepted", () => {
  expect(readSendOutcome({ ok: true, result: "0x12" })).toEqual({ kind: "accepted" });
});

test("simulates a call with a gas price of zero, as on a chain without fees", async () => {
  const sent: unknown[] = [];
  const call = async (_method: string, params: readonly unknown[]) => {
    sent.push(JSON.parse(JSON.stringify(params)));
    return { ok: true, result: "0x" } as const;
  };
  const { simulate } = createChain({ rpc: { call } });
  await simulate({ to: "0x01", data: "0x", gas: 0, gasPrice: 0n });
  await simulate({ to: "0x01", data: "0x" });
  const shared = { to: "0x01", data: "0x" };
  expect(sent).toEqual([
    [{ ...shared, gas: "0x0", gasPrice: "0x0" }, "pending"],
    [shared, "pending"],
  ]);
});
