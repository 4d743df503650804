import { expect, test } from "vitest";
import { createPaymentWatch, readPaymentCounts, type PaymentCounts } from "./payment-figures.ts";

const minuteMs = 60_000;

const counts = (minute: number, settled: number, balance: number | undefined, refused = {}): PaymentCounts => ({
  atMs: minute * minuteMs,
  pending: 1,
  settled,
  balance,
  refused: new Map(Object.entries<number>(refused)),
});

test("counts come from a facilitator's metrics, and from nobody else's", () => {
  const metrics = [
    "# HELP gatehouse_facilitator_settlements_pending Settlements under way.",
    "gatehouse_facilitator_settlements_pending 2",
    "gatehouse_facilitator_signer_balance_native 0.25",
    'gatehouse_facilitator_verify_duration_seconds_bucket{le="0.001",outcome="valid"} 3',
    'gatehouse_facilitator_verify_duration_seconds_count{outcome="valid"} 9',
    'gatehouse_facilitator_verify_duration_seconds_count{outcome="insufficient_funds"} 2',
    'gatehouse_facilitator_settle_duration_seconds_count{outcome="settled"} 7',
    'gatehouse_facilitator_settle_duration_seconds_count{outcome="insufficient_funds"} 1',
  ].join("\n");
  expect(readPaymentCounts(metrics, 5)).toEqual({
    atMs: 5,
    pending: 2,
    settled: 7,
    balance: 0.25,
    refused: new Map([["insufficient_funds", 3]]),
  });
  expect(readPaymentCounts("gatehouse_condition 1", 5)).toBeUndefined();
});

test("an hour of payments, and how many days the signer's balance lasts at that rate", () => {
  const watch = createPaymentWatch();
  expect(watch.add(counts(0, 100, 10))).toEqual({ pending: 1, settled: 0, refused: [], overMs: 0, balance: 10 });
  for (let minute = 1; minute <= 90; minute += 1) watch.add(counts(minute, 100 + minute, 10 - minute / 60));
  const figures = watch.add(counts(90, 190, 8.5, { expired: 4, insufficient_funds: 5 }));
  expect(figures).toMatchObject({ settled: 60, overMs: 60 * minuteMs, balance: 8.5 });
  expect(figures.refused).toEqual([
    { reason: "insufficient_funds", count: 5 },
    { reason: "expired", count: 4 },
  ]);
  expect(figures.balanceDays).toBeCloseTo(8.5 / 24);
});

test("what is paid in to the signer is no spending, and a facilitator that was restarted starts over", () => {
  const watch = createPaymentWatch();
  watch.add(counts(0, 100, 1));
  expect(watch.add(counts(1, 100, 5))).not.toHaveProperty("balanceDays");
  expect(watch.add(counts(2, 3, 5))).toMatchObject({ settled: 0, overMs: 0 });
  expect(watch.add(counts(3, 5, undefined))).toMatchObject({ settled: 2, overMs: minuteMs });
});
