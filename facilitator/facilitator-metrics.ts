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
    help: "Time from a settle call to its answer, by outcome: settled, a reason code, or an error's code.",
    labelNames: ["outcome"],
    buckets,
    registers,
  });
  const rpc = new Histogram({
    name: "gatehouse_facilitator_rpc_duration_seconds",
    help: "Time of one HTTP request to the chain's node, by outcome.",
    labelNames: ["outcome"],
    buckets,
    registers,
  });
  const calls = new Counter({
    name: "gatehouse_facilitator_rpc_calls_total",
    help: "JSON-RPC calls to the chain's node; several share one request.",
    registers,
  });
  const gas = new Counter({
    name: "gatehouse_facilitator_gas_paid_native_total",
    help: "What the signer paid for gas, in the chain's native currency, by payee of the settlement (of `payees`; else other).",
    labelNames: ["payee"],
    registers,
  });
  return {
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
  gauge("gatehouse_facilitator_settlements_pending", "Settlements under way.", inFlight);
  gauge(
    "gatehouse_facilitator_oldest_settlement_seconds",
    "Age of the oldest settlement under way, by the ledger; 0 when none is, and in replicas that stand ready.",
    () => oldestMs() / 1_000,
  );
  gauge("gatehouse_facilitator_signer_next_nonce", "Nonce that the signer's next transaction gets.", nextNonce);
  gauge("gatehouse_facilitator_leader", "1 in the process that settles, 0 in replicas that stand ready.", () =>
    nextNonce() === undefined ? 0 : 1,
  );
  gauge(
    "gatehouse_facilitator_signer_balance_native",
    "What the signer holds to pay for gas, in the chain's native currency.",
    signerBalance,
  );
  gauge(
    "gatehouse_facilitator_ledger_mismatches",
    "Settlements that the ledger says are settled and the chain does not have, found in the last hour; NaN after a look that failed.",
    () => comparison()?.mismatches,
  );
  gauge(
    "gatehouse_facilitator_ledger_reconciled_timestamp_seconds",
    "When the ledger was last compared with the chain without a failure, in seconds since 1970.",
    () => {
      const atMs = comparison()?.atMs;
      return atMs === undefined ? undefined : atMs / 1_000;
    },
  );
}
