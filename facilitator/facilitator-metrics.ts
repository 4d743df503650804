import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { LedgerComparison } from "./settlement/comparison/ledger-comparison.ts";
import type { JsonRpcObserver } from "./chain/batching-client.ts";

/** State read on each metrics request. */
type MeteredState = Readonly<{
  inFlight: () => number;
  oldestMs: () => number;
  /** Undefined in a replica that is not settling. */
  nextNonce: () => number | undefined;
  /** In the chain's native currency; `undefined` before the first query. */
  signerBalance: () => number | undefined;
  /** Result of comparing the ledger with the chain; `undefined` before the first check, and in a replica that does not settle. */
  comparison: () => LedgerComparison | undefined;
}>;

/** Metrics of the facilitator's operations and state. */
export type FacilitatorMetrics = Readonly<{
  /** Starts a measurement; call the returned function with the outcome: `valid`, `settled`, a reason code, or the error's code. */
  startVerify: () => (outcome: string) => void;
  startSettle: () => (outcome: string) => void;
  observeRpc: JsonRpcObserver;
  /** Adds the signer's gas cost of a settlement, in the chain's native currency; the payee is one from the settings, or `other`. */
  addGasCost: (payee: string, paid: number) => void;
  /** Counts a call of a seller with a name in the settings, and what its settlements cost in the chain's native currency. */
  addSellerCall: (seller: string, operation: "verify" | "settle", result: "served" | "limited") => void;
  addSellerGas: (seller: string, paid: number) => void;
  /** Registers the gauge of what each seller's settlements cost today, by the ledger. */
  watchSellers: (sellers: readonly string[], gasToday: (seller: string) => Promise<number>) => Gauge<"seller">;
  /** Registers the gauges that read the facilitator's state. */
  watch: (state: MeteredState) => void;
}>;

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the facilitator's metrics. Label values come from fixed sets, never from requests. */
export function createFacilitatorMetrics(registers: Registry[]): FacilitatorMetrics {
  const verify = new Histogram({
    name: "gatehouse_facilitator_verify_duration_seconds",
    help: "Time to verify a payment, by outcome: valid, a reason code, or an error's code.",
    labelNames: ["outcome"],
    buckets,
    registers,
  });
  const settle = new Histogram({
    name: "gatehouse_facilitator_settle_duration_seconds",
    help: "Time from a settle request to its response, by outcome: settled, a reason code, or an error's code.",
    labelNames: ["outcome"],
    buckets,
    registers,
  });
  const rpc = new Histogram({
    name: "gatehouse_facilitator_rpc_duration_seconds",
    help: "Duration of one HTTP request to the chain's node, by outcome.",
    labelNames: ["outcome"],
    buckets,
    registers,
  });
  const calls = new Counter({
    name: "gatehouse_facilitator_rpc_calls_total",
    help: "JSON-RPC calls to the chain's node; several may share one request.",
    registers,
  });
  const gas = new Counter({
    name: "gatehouse_facilitator_gas_paid_native_total",
    help: "Gas paid by the signer, in the chain's native currency, by payee of the settlement (of `payees`; else other).",
    labelNames: ["payee"],
    registers,
  });
  const sellerCalls = new Counter({
    name: "gatehouse_facilitator_seller_calls_total",
    help: "Sellers' calls (of `sellers`), by operation and result: served, or limited by the seller's own rate limit.",
    labelNames: ["seller", "operation", "result"],
    registers,
  });
  const sellerGas = new Counter({
    name: "gatehouse_facilitator_seller_gas_paid_native_total",
    help: "Gas paid by the signer, in the chain's native currency, by seller (of `sellers`).",
    labelNames: ["seller"],
    registers,
  });
  return {
    addSellerCall: (seller, operation, result) => sellerCalls.inc({ seller, operation, result }),
    addSellerGas: (seller, paid) => sellerGas.inc({ seller }, paid),
    watchSellers: (sellers, gasToday) => watchSellers(sellers, gasToday, registers),
    addGasCost: (payee, paid) => gas.inc({ payee }, paid),
    startVerify: () => startMeasurement(verify),
    startSettle: () => startMeasurement(settle),
    observeRpc: ({ calls: count, durationMs, outcome }) => {
      rpc.observe({ outcome }, durationMs / 1_000);
      calls.inc(count);
    },
    watch: (state) => watchState(state, registers),
  };
}

function watchSellers(
  sellers: readonly string[],
  gasToday: (seller: string) => Promise<number>,
  registers: Registry[],
): Gauge<"seller"> {
  return new Gauge({
    name: "gatehouse_facilitator_seller_gas_day_native",
    help: "Cost of a seller's settlements (of `sellers`) since midnight UTC, in the chain's native currency, from the ledger; NaN while it can't be read.",
    labelNames: ["seller"],
    registers,
    async collect() {
      const read = async (seller: string) => this.set({ seller }, await gasToday(seller).catch(() => Number.NaN));
      await Promise.all(sellers.map(read));
    },
  });
}

function startMeasurement(histogram: Histogram<"outcome">): (outcome: string) => void {
  const end = histogram.startTimer();
  return (outcome) => void end({ outcome });
}

function watchState(state: MeteredState, registers: Registry[]): void {
  const { inFlight, oldestMs, nextNonce, signerBalance, comparison } = state;
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read() ?? Number.NaN);
      },
    });
  gauge("gatehouse_facilitator_settlements_pending", "In-flight settlements.", inFlight);
  gauge(
    "gatehouse_facilitator_oldest_settlement_seconds",
    "Age of the oldest in-flight settlement in the ledger; 0 if none, and in standby replicas.",
    () => oldestMs() / 1_000,
  );
  gauge("gatehouse_facilitator_signer_next_nonce", "Nonce of the signer's next transaction.", nextNonce);
  gauge("gatehouse_facilitator_leader", "1 in the process that settles, 0 in standby replicas.", () =>
    nextNonce() === undefined ? 0 : 1,
  );
  gauge(
    "gatehouse_facilitator_signer_balance_native",
    "Signer's balance for gas, in the chain's native currency.",
    signerBalance,
  );
  gauge(
    "gatehouse_facilitator_ledger_mismatches",
    "Settlements that are settled in the ledger but missing on the chain, found in the last hour; NaN after a failed check.",
    () => comparison()?.mismatches,
  );
  gauge(
    "gatehouse_facilitator_ledger_reconciled_timestamp_seconds",
    "Time of the last successful comparison of the ledger with the chain, in seconds since 1970.",
    () => {
      const atMs = comparison()?.atMs;
      return atMs === undefined ? undefined : atMs / 1_000;
    },
  );
}
