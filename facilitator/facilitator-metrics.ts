import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { LedgerComparison } from "./settlement/ledger-comparison.ts";
import type { JsonRpcObserver } from "./chain/batching-client.ts";
import type { SignerState } from "./settlement/submit/signer-queues.ts";

/** State of one network, read on each metrics request. Amounts are in its native currency. */
type MeteredState = Readonly<{
  inFlight: () => number;
  oldestMs: () => number;
  /** Undefined in a replica that is not settling. */
  signerStates: () => readonly SignerState[] | undefined;
  /** Keyed by account; accounts not queried yet are absent. */
  signerBalances: () => ReadonlyMap<string, number>;
  signersUsable: () => ReadonlyMap<string, boolean>;
  /** Result of comparing the ledger with the chain; `undefined` before the first check, and in a replica that does not settle. */
  comparison: () => LedgerComparison | undefined;
  /** Sellers with a name in the settings, and today's cost of each one's settlements, according to the ledger. */
  sellers: readonly string[];
  gasOfDay: (seller: string) => Promise<number>;
}>;

/** Ends a measurement with the outcome (`valid`, `settled`, a reason code, or the error's code), and the payment's network, empty if it is not served. */
export type EndMeasurement = (outcome: string, network: string) => void;

export type FacilitatorMetrics = Readonly<{
  startVerify: () => EndMeasurement;
  startSettle: () => EndMeasurement;
  addSellerCall: (seller: string, operation: "verify" | "settle", result: "served" | "limited") => void;
  of: (network: string) => NetworkMetrics;
}>;

/** Metrics of one network. Amounts are in its native currency. */
export type NetworkMetrics = Readonly<{
  observeRpc: JsonRpcObserver;
  /** Adds the signer's gas cost of a settlement; the payee is one from the settings, or `other`. */
  addGasCost: (payee: string, paid: number) => void;
  addSellerGas: (seller: string, paid: number) => void;
  watch: (state: MeteredState) => void;
}>;

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the facilitator's metrics. Label values come from fixed sets, never from requests. */
export function createFacilitatorMetrics(registers: Registry[]): FacilitatorMetrics {
  const verify = new Histogram({
    name: "gatehouse_facilitator_verify_duration_seconds",
    help: "Time to verify a payment, by outcome: valid, a reason code, or an error's code.",
    labelNames: ["outcome", "network"],
    buckets,
    registers,
  });
  const settle = new Histogram({
    name: "gatehouse_facilitator_settle_duration_seconds",
    help: "Time from a settle request to its response, by outcome: settled, a reason code, or an error's code.",
    labelNames: ["outcome", "network"],
    buckets,
    registers,
  });
  const rpc = new Histogram({
    name: "gatehouse_facilitator_rpc_duration_seconds",
    help: "Duration of one HTTP request to the chain's node, by outcome.",
    labelNames: ["outcome", "network"],
    buckets,
    registers,
  });
  const calls = new Counter({
    name: "gatehouse_facilitator_rpc_calls_total",
    help: "JSON-RPC calls to the node; several may share a request.",
    labelNames: ["network"],
    registers,
  });
  const gas = new Counter({
    name: "gatehouse_facilitator_gas_paid_native_total",
    help: "Gas paid by the signer, in the chain's native currency, by payee of the settlement (of `payees`; else other).",
    labelNames: ["payee", "network"],
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
    labelNames: ["seller", "network"],
    registers,
  });
  const states = watchStates(registers);
  return {
    addSellerCall: (seller, operation, result) => sellerCalls.inc({ seller, operation, result }),
    startVerify: () => startMeasurement(verify),
    startSettle: () => startMeasurement(settle),
    of: (network) => ({
      addGasCost: (payee, paid) => gas.inc({ payee, network }, paid),
      addSellerGas: (seller, paid) => sellerGas.inc({ seller, network }, paid),
      observeRpc: ({ calls: count, durationMs, outcome }) => {
        rpc.observe({ outcome, network }, durationMs / 1_000);
        calls.inc({ network }, count);
      },
      watch: (state) => void states.set(network, state),
    }),
  };
}

function startMeasurement(histogram: Histogram<"outcome" | "network">): EndMeasurement {
  const end = histogram.startTimer();
  return (outcome, network) => void end({ outcome, network });
}

function watchStates(registers: Registry[]): Map<string, MeteredState> {
  const states = new Map<string, MeteredState>();
  const gauge = (name: string, help: string, read: (state: MeteredState) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ["network"],
      registers,
      collect() {
        for (const [network, state] of states) this.set({ network }, read(state) ?? Number.NaN);
      },
    });
  gauge("gatehouse_facilitator_settlements_pending", "In-flight settlements.", ({ inFlight }) => inFlight());
  gauge(
    "gatehouse_facilitator_oldest_settlement_seconds",
    "Age of the oldest in-flight settlement in the ledger; 0 if none, and in standby replicas.",
    ({ oldestMs }) => oldestMs() / 1_000,
  );
  watchSigners(states, registers);
  gauge("gatehouse_facilitator_leader", "1 in the process that settles, 0 in standby replicas.", ({ signerStates }) =>
    signerStates() === undefined ? 0 : 1,
  );
  gauge(
    "gatehouse_facilitator_ledger_mismatches",
    "Settlements that are settled in the ledger but missing on the chain, found in the last hour; NaN after a failed check.",
    ({ comparison }) => comparison()?.mismatches,
  );
  gauge(
    "gatehouse_facilitator_ledger_reconciled_timestamp_seconds",
    "Time of the last successful comparison of the ledger with the chain, in seconds since 1970.",
    ({ comparison }) => {
      const atMs = comparison()?.atMs;
      return atMs === undefined ? undefined : atMs / 1_000;
    },
  );
  watchSellers(states, registers);
  return states;
}

function watchSellers(networks: ReadonlyMap<string, MeteredState>, registers: Registry[]): Gauge<"seller" | "network"> {
  return new Gauge({
    name: "gatehouse_facilitator_seller_gas_day_native",
    help: "Cost of a seller's settlements (of `sellers`) in the last 24 hours, in the chain's native currency, from the ledger; NaN while it can't be read.",
    labelNames: ["seller", "network"],
    registers,
    async collect() {
      const read = async (network: string, { gasOfDay }: MeteredState, seller: string) =>
        this.set({ seller, network }, await gasOfDay(seller).catch(() => Number.NaN));
      await Promise.all(
        [...networks].flatMap(([network, state]) => state.sellers.map((seller) => read(network, state, seller))),
      );
    },
  });
}

function watchSigners(networks: ReadonlyMap<string, MeteredState>, registers: Registry[]): void {
  type Values = Iterable<readonly [signer: string, value: number]>;
  const gauge = (name: string, help: string, read: (state: MeteredState) => Values) =>
    new Gauge({
      name,
      help,
      labelNames: ["signer", "network"],
      registers,
      collect() {
        this.reset();
        for (const [network, state] of networks)
          for (const [signer, value] of read(state)) this.set({ signer, network }, value);
      },
    });
  const list = ({ signerStates }: MeteredState) => signerStates() ?? [];
  gauge(
    "gatehouse_facilitator_signer_next_nonce",
    "Nonce of a signer's next transaction, once it was read; none in standby replicas.",
    (state) =>
      list(state).flatMap(({ address, nextNonce }) => (nextNonce === undefined ? [] : [[address, nextNonce] as const])),
  );
  gauge("gatehouse_facilitator_signer_transactions_pending", "A signer's transactions in flight.", (state) =>
    list(state).map(({ address, inFlight }) => [address, inFlight]),
  );
  gauge(
    "gatehouse_facilitator_signer_balance_native",
    "A signer's balance for gas, in native currency.",
    ({ signerBalances }) => signerBalances(),
  );
  gauge(
    "gatehouse_facilitator_signer_usable",
    "1 for a signer that can settle, 0 for one with too little for gas or a key that can't sign.",
    ({ signersUsable }) => [...signersUsable()].map(([signer, isUsable]) => [signer, isUsable ? 1 : 0]),
  );
}
