import { expect, test } from "vitest";
import { createPaymentWatch, readPaymentCounts, type PaymentCounts } from "./payment-figures.ts";

const minuteMs = 60_000;
const of = { network: "eip155:1672", signer: "0x51" };

const counts = (minute: number, settled: number, balance: number | undefined, rejected = {}): PaymentCounts => ({
  atMs: minute * minuteMs,
  pending: 1,
  settled,
  balances: new Map(balance === undefined ? [] : [["eip155:1672 0x51", balance]]),
  unpaid: 0,
  rejected: new Map(Object.entries<number>(rejected)),
});

test("counts from a service's own metrics, even if a resource server settles payments itself", () => {
  const metrics = [
    "# HELP gatehouse_facilitator_settlements_pending In-flight settlements.",
    'gatehouse_facilitator_settlements_pending{network="eip155:1672"} 2',
    'gatehouse_facilitator_settlements_pending{network="eip155:1673"} 1',
    'gatehouse_facilitator_signer_balance_native{signer="0x51",network="eip155:1672"} 0.25',
    'gatehouse_facilitator_signer_balance_native{signer="0x51",network="eip155:1673"} 8',
    'gatehouse_facilitator_verify_duration_seconds_bucket{le="0.001",outcome="valid"} 3',
    'gatehouse_facilitator_verify_duration_seconds_count{outcome="valid"} 9',
    'gatehouse_facilitator_verify_duration_seconds_count{outcome="insufficient_funds"} 2',
    'gatehouse_facilitator_verify_duration_seconds_count{outcome="terms_check"} 2',
    'gatehouse_facilitator_settle_duration_seconds_count{outcome="settled"} 7',
    'gatehouse_facilitator_settle_duration_seconds_count{outcome="insufficient_funds"} 1',
  ].join("\n");
  const balances = new Map([
    ["eip155:1672 0x51", 0.25],
    ["eip155:1673 0x51", 8],
  ]);
  const ofFacilitator = { pending: 3, settled: 7, unpaid: 0, rejected: new Map([["insufficient_funds", 3]]) };
  expect(readPaymentCounts("facilitator", metrics, 5)).toEqual({ atMs: 5, balances, ...ofFacilitator });
  const sales = [
    "gatehouse_payments_in_flight 1",
    'gatehouse_payment_requests_total{route="GET /a",outcome="unpaid"} 8',
    'gatehouse_payment_requests_total{route="GET /a",outcome="sold"} 4',
    'gatehouse_payment_requests_total{route="GET /b",outcome="sold"} 2',
    'gatehouse_payment_requests_total{route="GET /b",outcome="busy"} 1',
  ].join("\n");
  const ofSeller = { pending: 1, settled: 6, unpaid: 8, rejected: new Map([["busy", 1]]) };
  expect(readPaymentCounts("resource-server", `${metrics}\n${sales}`, 5)).toEqual({
    atMs: 5,
    balances,
    ...ofSeller,
  });
});

test("shows an hour of payments, and how many days the signer's balance lasts at that rate", () => {
  const watch = createPaymentWatch();
  expect(watch.add(counts(0, 100, 10))).toEqual({
    pending: 1,
    settled: 0,
    rejected: [],
    overMs: 0,
    unpaid: 0,
    balances: [{ ...of, balance: 10 }],
  });
  for (let minute = 1; minute <= 90; minute += 1) watch.add(counts(minute, 100 + minute, 10 - minute / 60));
  const figures = watch.add(counts(90, 190, 8.5, { expired: 4, insufficient_funds: 5 }));
  expect(figures).toMatchObject({ settled: 60, overMs: 60 * minuteMs });
  expect(figures.rejected).toEqual([
    { reason: "insufficient_funds", count: 5 },
    { reason: "expired", count: 4 },
  ]);
  expect(figures.balances).toEqual([{ ...of, balance: 8.5, days: expect.closeTo(8.5 / 24) }]);
});

test("does not count a deposit to the signer as spending, or derive a rate from a minute of it", () => {
  const watch = createPaymentWatch();
  watch.add(counts(0, 100, 1));
  expect(watch.add(counts(9, 100, 0.5)).balances).toEqual([{ ...of, balance: 0.5 }]);
  expect(watch.add(counts(20, 100, 5)).balances[0]?.days).toBeCloseTo((5 * 20) / 0.5 / 1_440);
  expect(createPaymentWatch().add(counts(30, 100, 5)).balances).toEqual([{ ...of, balance: 5 }]);
});

const ofTwo = (minute: number, first: number, second: number): PaymentCounts => ({
  ...counts(minute, 100, undefined),
  balances: new Map([
    ["eip155:1672 0x51", first],
    ["eip155:1672 0x52", second],
  ]),
});

test("shows the remaining days of each of several signers", () => {
  const watch = createPaymentWatch();
  watch.add(ofTwo(0, 10, 4));
  expect(watch.add(ofTwo(60, 8, 3.5)).balances).toEqual([
    { ...of, balance: 8, days: expect.closeTo(8 / 2 / 24) },
    { ...of, signer: "0x52", balance: 3.5, days: expect.closeTo(3.5 / 0.5 / 24) },
  ]);
});

test("counts since the previous check even if it was hours ago, and shows that time span", () => {
  const watch = createPaymentWatch();
  watch.add(counts(0, 100, 1));
  expect(watch.add(counts(300, 107, 1))).toMatchObject({ settled: 7, overMs: 300 * minuteMs });
  expect(watch.add(counts(301, 108, 1))).toMatchObject({ settled: 8, overMs: 301 * minuteMs });
  expect(watch.add(counts(361, 108, 1))).toMatchObject({ settled: 0, overMs: 60 * minuteMs });
});
