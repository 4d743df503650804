import { pino } from "pino";
import { expect, test } from "vitest";
import type { Hex } from "#x402/hex.ts";
import { createSuspensions } from "./suspensions.ts";

const parties = (payer: number, asset = 0) => ({
  payer: `0x${String(payer).padStart(40, "0")}` as Hex,
  asset: `0x${String(asset).padStart(40, "a")}` as Hex,
});

function createClocked() {
  const state = { nowMs: 5_000 };
  const log = pino({ level: "silent" });
  return { state, ...createSuspensions({ monotonicMs: () => state.nowMs, log }) };
}

test("a payer is rejected for a minute, then two, whatever the token, until a payment of it is settled", () => {
  const { state, add, end, refuse } = createClocked();
  add("payer", parties(1));
  expect(refuse(parties(1, 7))?.message).toMatch(/the payer 0x0+1 .* rejected for another 60 s/);
  expect(refuse(parties(2))).toBeUndefined();
  state.nowMs += 60_000;
  expect(refuse(parties(1))).toBeUndefined();
  add("payer", parties(1));
  expect(refuse(parties(1))?.message).toMatch(/another 120 s/);
  end(parties(1));
  add("payer", parties(1));
  expect(refuse(parties(1))?.message).toMatch(/another 60 s/);
});

test("a token is rejected for all payers; the oldest of a thousand is forgotten", () => {
  const { add, refuse } = createClocked();
  add("token", parties(1, 7));
  expect(refuse(parties(2, 7))?.reason).toBe("invalid_exact_evm_transaction_failed");
  expect(refuse(parties(1, 8))).toBeUndefined();
  for (let payer = 1; payer <= 1_000; payer += 1) add("payer", parties(payer));
  expect(refuse(parties(0, 7))).toBeUndefined();
  expect(refuse(parties(1_000, 7))).toBeDefined();
});
