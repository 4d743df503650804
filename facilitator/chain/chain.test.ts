import { expect, test } from "vitest";
import { readSendOutcome } from "./chain.ts";

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
