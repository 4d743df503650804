import { Counter, Gauge, Histogram, type GaugeConfiguration, type Registry } from "prom-client";
import type { LedgerComparison } from "./settlement/ledger-comparison.ts";
import type { JsonRpcObserver } from "./chain/batching-client.ts";
import type { SignerState } from "./settlement/submit/signer-queues.ts";

/** State of one network, read on each metrics request. Amounts are in its native currency. */
type MeteredState = Readonly<{
  inFlight: () => number;
  oldestMs: () => number;
  /** States of the signers; undefined in a replica that is not settling. */
  signerStates: () => readonly SignerState[] | undefined;
  /** Keyed by account; accounts not queried yet are absent. */
  signerBalances: () => ReadonlyMap<string, number>;
  signersUsable: () => ReadonlyMap<string, boolean>;
  /** Result of comparing the ledger with the chain; `undefined` before the first check, and in a replica that does not settle. */
  comparison: () => LedgerComparison | undefined;
  /** Sellers with a name in the settings, and what each one's settlements cost in the last 24 hours, according to the ledger. */
  sellers: readonly string[];
  dailyGas: (seller: string) => Promise<number>;
}>;

/**
 * Ends a measurement. `outcome` is `valid`, `terms_check`, `settled`, a reason code, or an error's code; `network` is empty if the
 * payment's network is not served.
 */
export type RecordOutcome = (outcome: string, network: string) => void;

export type FacilitatorMetrics = ReturnType<typeof createFacilitatorMetrics>;

export type NetworkMetrics = ReturnType<FacilitatorMetrics["of"]>;

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the facilitator's metrics. Label values come from fixed sets, never from requests. */
export function createFacilitatorMetrics(registers: Registry[]) {
  const measure = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ["outcome", "network"], buckets, registers });
  const count = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const verify = measure(
    "gatehouse_facilitator_verify_duration_seconds",
    "Time to verify a payment, by outcome: valid, terms_check (no payment), a reason code, or an error's code.",
  );
  const settle = measure(
    "gatehouse_facilitator_settle_duration_seconds",
    "Time from a settle request to its response, by outcome: settled, a reason code, or an error's code.",
  );
  const rpc = measure(
    "gatehouse_facilitator_rpc_duration_seconds",
    "Duration of one HTTP request to the chain's node, by outcome.",
  );
  const calls = count(
    "gatehouse_facilitator_rpc_calls_total",
    "JSON-RPC calls to the node; several may share a request.",
    ["network"],
  );
  const gas = count(
    "gatehouse_facilitator_gas_paid_native_total",
    "Gas paid by the signer, in the chain's native currency, by payee (those in `payees`; the rest as other).",
    ["payee", "network"],
  );
  const sellerCalls = count(
    "gatehouse_facilitator_seller_calls_total",
    "Calls from the sellers in `sellers`, by operation and result: served, or limited by the seller's own rate limit.",
    ["seller", "operation", "result"],
  );
  const sellerGas = count(
    "gatehouse_facilitator_seller_gas_paid_native_total",
    "Gas paid by the signer, in the chain's native currency, by seller in `sellers`.",
    ["seller", "network"],
  );
  const states = watchStates(registers);
  return {
    addSellerCall: (seller: string, operation: "verify" | "settle", result: "served" | "limited") =>
      sellerCalls.inc({ seller, operation, result }),
    startVerify: () => startMeasurement(verify),
    startSettle: () => startMeasurement(settle),
    of: (network: string) => ({
      /** Adds the signer's gas cost of a settlement; the payee is listed in the settings, or is `other`. */
      addGasCost: (payee: string, paid: number) => gas.inc({ payee, network }, paid),
      addSellerGas: (seller: string, paid: number) => sellerGas.inc({ seller, network }, paid),
      observeRpc: ({ calls: callCount, durationMs, outcome }: Parameters<JsonRpcObserver>[0]) => {
        rpc.observe({ outcome, network }, durationMs / 1_000);
        calls.inc({ network }, callCount);
      },
      watch: (state: MeteredState) => void states.set(network, state),
    }),
  };
}

function startMeasurement(histogram: Histogram<"outcome" | "network">): RecordOutcome {
  const end = histogram.startTimer();
  return (outcome, network) => void end({ outcome, network });
}

const gauges: readonly (readonly [string, string, (state: MeteredState) => number | undefined])[] = [
  ["gatehouse_facilitator_settlements_pending", "In-flight settlements.", ({ inFlight }) => inFlight()],
  [
    "gatehouse_facilitator_oldest_settlement_seconds",
    "Age of the oldest in-flight settlement in the ledger; 0 if none, and in standby replicas.",
    ({ oldestMs }) => oldestMs() / 1_000,
  ],
  [
    "gatehouse_facilitator_leader",
    "1 in the process that settles, 0 in standby replicas.",
    ({ signerStates }) => (signerStates() === undefined ? 0 : 1),
  ],
  [
    "gatehouse_facilitator_ledger_mismatches",
    "Settlements that are settled in the ledger but missing on the chain, found in the last hour; NaN after a failed check.",
    ({ comparison }) => comparison()?.mismatches,
  ],
  [
    "gatehouse_facilitator_ledger_reconciled_timestamp_seconds",
    "Time of the last successful comparison of the ledger with the chain, in seconds since 1970.",
    ({ comparison }) => (comparison()?.atMs ?? Number.NaN) / 1_000,
  ],
];

type Values = Iterable<readonly [key: string, value: number]>;

const signerGauges: readonly (readonly [string, string, (state: MeteredState) => Values])[] = [
  [
    "gatehouse_facilitator_signer_next_nonce",
    "Nonce of a signer's next transaction, once it was read; none in standby replicas.",
    ({ signerStates }) =>
      (signerStates() ?? []).flatMap(({ address, nextNonce }) =>
        nextNonce === undefined ? [] : [[address, nextNonce] as const],
      ),
  ],
  [
    "gatehouse_facilitator_signer_transactions_pending",
    "A signer's transactions in flight.",
    ({ signerStates }) => (signerStates() ?? []).map(({ address, inFlight }) => [address, inFlight]),
  ],
  [
    "gatehouse_facilitator_signer_balance_native",
    "A signer's balance for gas, in native currency.",
    ({ signerBalances }) => signerBalances(),
  ],
  [
    "gatehouse_facilitator_signer_usable",
    "1 for a signer that can settle, 0 for one with too little for gas or a key that can't sign.",
    ({ signersUsable }) => [...signersUsable()].map(([signer, isUsable]) => [signer, isUsable ? 1 : 0]),
  ],
];

const register = <Label extends string>(options: GaugeConfiguration<Label>) => new Gauge(options);

function watchStates(registers: Registry[]): Map<string, MeteredState> {
  const states = new Map<string, MeteredState>();
  for (const [name, help, read] of gauges)
    register({
      name,
      help,
      registers,
      labelNames: ["network"],
      collect() {
        for (const [network, state] of states) this.set({ network }, read(state) ?? Number.NaN);
      },
    });
  for (const [name, help, read] of signerGauges)
    register({
      name,
      help,
      registers,
      labelNames: ["signer", "network"],
      collect() {
        this.reset();
        for (const [network, state] of states)
          for (const [signer, value] of read(state)) this.set({ signer, network }, value);
      },
    });
  register({
    name: "gatehouse_facilitator_seller_gas_day_native",
    help: "Cost of a seller's settlements in the last 24 hours, for each seller in `sellers`, in the chain's native currency, from the ledger; NaN while it can't be read.",
    registers,
    labelNames: ["seller", "network"],
    async collect() {
      const read = async (network: string, { dailyGas }: MeteredState, seller: string) =>
        this.set({ seller, network }, await dailyGas(seller).catch(() => Number.NaN));
      await Promise.all(
        [...states].flatMap(([network, state]) => state.sellers.map((seller) => read(network, state, seller))),
      );
    },
  });
  return states;
}
