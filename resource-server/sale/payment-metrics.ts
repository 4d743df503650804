import { Counter, Gauge, Histogram, type GaugeConfiguration, type Registry } from "prom-client";
import { StoreError } from "#daemon/sql/store.ts";
import type { ClaimLedger } from "../claims/claim-ledger.ts";
import type { PaymentClaim } from "../claims/payment-claim.ts";
import type { Route } from "../routes/route.ts";
import type { PaymentsInFlight } from "./claim-settlement.ts";
import type { SaleOutcome } from "./sale-outcome.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";

/** Payment metrics. Labels are the file's routes and the code's outcomes, so their number is limited. */
export type PaymentMetrics = ReturnType<typeof createPaymentMetrics>;

const register = <Label extends string>(options: GaugeConfiguration<Label>) => new Gauge(options);

type MeteredParts = Readonly<{ ledger: Pick<ClaimLedger, "count">; payments: PaymentsInFlight; registry: Registry }>;

export function createPaymentMetrics({ ledger, payments, registry }: MeteredParts) {
  const registers = [registry];
  const requests = new Counter({
    name: "gatehouse_payment_requests_total",
    help: "Requests for paid routes, by route and outcome; replayed: delivered again, uncharged.",
    labelNames: ["route", "outcome"],
    registers,
  });
  const chargedCounter = new Counter({
    name: "gatehouse_payment_charged_units_total",
    help: "Total amount charged, in the token's smallest units, by route.",
    labelNames: ["route"],
    registers,
  });
  const upstream = new Histogram({
    name: "gatehouse_upstream_duration_seconds",
    help: "Upstream response time for paid requests, by route and result.",
    labelNames: ["route", "result"],
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers,
  });
  register({
    name: "gatehouse_payments_in_flight",
    help: "Payments being processed or delivered.",
    registers,
    collect() {
      this.set(payments.count());
    },
  });
  register({
    name: "gatehouse_payment_claims",
    help: "Payments in the ledger, by state, up to 100,000 of each; settling that stays above 0 means settlements with an unknown outcome.",
    labelNames: ["state"],
    registers,
    async collect() {
      const counts = await countClaims(ledger);
      for (const state of ["working", "settling", "settled", "delivered"]) {
        this.set({ state }, counts === undefined ? Number.NaN : (counts[state] ?? 0));
      }
    },
  });
  return {
    count: (route: Pick<Route, "key">, outcome: SaleOutcome["kind"] | "replayed" | "unpaid") =>
      requests.inc({ route: route.key, outcome }),
    charge: ({ route, amount }: PaymentClaim) => chargedCounter.inc({ route }, Number(amount)),
    async timeUpstream(route: Route, work: () => Promise<UpstreamResult>): Promise<UpstreamResult> {
      const end = upstream.startTimer({ route: route.key });
      const result = await work();
      end({ result: result.kind });
      return result;
    },
  };
}

/** Counts the claims; returns undefined while the ledger is unavailable, so that the other metrics are still served. */
async function countClaims(ledger: Pick<ClaimLedger, "count">): Promise<Readonly<Record<string, number>> | undefined> {
  try {
    return await ledger.count();
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}
