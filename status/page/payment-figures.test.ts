import { expect, test } from "vitest";
import { createPaymentWatch, readPaymentCounts, type PaymentCounts } from "./payment-figures.ts";

const minuteMs = 60_000;

const counts = (minute: number, settled: number, balance: number | undefined, refused = {}): PaymentCounts => ({
  atMs: minute * minuteMs,
  pending: 1,
  settled,
  balance,
  unpaid: 0,
  refused: new Map(Object.entries<number>(refused)),
});

test("counts come from a service's own metrics, also where a resource server settles by itself", () => {
  const metrics = [
    "# HELP gatehouse_facilitator_settlements_pending In-flight settlements.",
    "gatehouse_facilitator_settlements_pending 2",
    "gatehouse_facilitator_signer_balance_native 0.25",
    'gatehouse_facilitator_verify_duration_seconds_bucket{le="0.001",outcome="valid"} 3',
    'gatehouse_facilitator_verify_duration_seconds_count{outcome="valid"} 9',
    'gatehouse_facilitator_verify_duration_seconds_count{outcome="insufficient_funds"} 2',
    'gatehouse_facilitator_settle_duration_seconds_count{outcome="settled"} 7',
    'gatehouse_facilitator_settle_duration_seconds_count{outcome="insufficient_funds"} 1',
  ].join("\n");
  const ofFacilitator = { pending: 2, settled: 7, unpaid: 0, refused: new Map([["insufficient_funds", 3]]) };
  expect(readPaymentCounts("facilitator", metrics, 5)).toEqual({ atMs: 5, balance: 0.25, ...ofFacilitator });
  const sales = [
    "gatehouse_payments_in_flight 1",
    'gatehouse_payment_requests_total{route="GET /a",outcome="unpaid"} 8',
    'gatehouse_payment_requests_total{route="GET /a",outcome="sold"} 4',
    'gatehouse_payment_requests_total{route="GET /b",outcome="sold"} 2',
    'gatehouse_payment_requests_total{route="GET /b",outcome="busy"} 1',
  ].join("\n");
  const ofSeller = { pending: 1, settled: 6, unpaid: 8, refused: new Map([["busy", 1]]) };
  expect(readPaymentCounts("resource-server", `${metrics}\n${sales}`, 5)).toEqual({
    atMs: 5,
    balance: 0.25,
    ...ofSeller,
  });
});

test("an hour of payments, and how many days the signer's balance lasts at that rate", () => {
  const watch = createPaymentWatch();
  expect(watch.add(counts(0, 100, 10))).toEqual({
    pending: 1,
    settled: 0,
    refused: [],
    overMs: 0,
    unpaid: 0,
    balance: 10,
  });
  for (let minute = 1; minute <= 90; minute += 1) watch.add(counts(minute, 100 + minute, 10 - minute / 60));
  const figures = watch.add(counts(90, 190, 8.5, { expired: 4, insufficient_funds: 5 }));
  expect(figures).toMatchObject({ settled: 60, overMs: 60 * minuteMs, balance: 8.5 });
  expect(figures.refused).toEqual([
    { reason: "insufficient_funds", count: 5 },
    { reason: "expired", count: 4 },
  ]);
  expect(figures.balanceDays).toBeCloseTo(8.5 / 24);
});

test("what is paid in to the signer is no spending, and a minute of it is no rate", () => {
  const watch = createPaymentWatch();
  watch.add(counts(0, 100, 1));
  expect(watch.add(counts(9, 100, 0.5))).not.toHaveProperty("balanceDays");
  expect(watch.add(counts(20, 100, 5)).balanceDays).toBeCloseTo((5 * 20) / 0.5 / 1_440);
  expect(createPaymentWatch().add(counts(30, 100, 5))).not.toHaveProperty("balanceDays");
});

test("looked at after hours, it counts since the look before, and names that time", () => {
  const watch = createPaymentWatch();
  watch.add(counts(0, 100, 1));
  expect(watch.add(counts(300, 107, 1))).toMatchObject({ settled: 7, overMs: 300 * minuteMs });
  expect(watch.add(counts(301, 108, 1))).toMatchObject({ settled: 8, overMs: 301 * minuteMs });
  expect(watch.add(counts(361, 108, 1))).toMatchObject({ settled: 0, overMs: 60 * minuteMs });
});
