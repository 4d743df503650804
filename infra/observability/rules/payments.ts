import type { Alert, Recording, RuleGroup } from "../alert.ts";
import { series } from "../series.ts";

const sameTarget = "on (job, instance)";
const balance = series("gatehouse_facilitator_signer_balance_native");
const settler = series("gatehouse_facilitator_leader");
const mismatches = series("gatehouse_facilitator_ledger_mismatches");
const compared = series("gatehouse_facilitator_ledger_reconciled_timestamp_seconds");
const pending = series("gatehouse_facilitator_settlements_pending");
const oldest = series("gatehouse_facilitator_oldest_settlement_seconds");
const settled = series("gatehouse_facilitator_settle_duration_seconds_count", { outcome: "settled" });
const verified = series("gatehouse_facilitator_verify_duration_seconds_count");
const refused = series("gatehouse_facilitator_verify_duration_seconds_count", { outcome: { notIn: ["valid"] } });

/** Number of days for which the signer's balance must last. */
const signerDays = 7;

const spend = "gatehouse:facilitator_signer_spend:rate1d";
const share = (window: "15m" | "1d") => `gatehouse:facilitator_refusals:share${window}` as const;

function buildRefusedShare(window: "15m" | "1d"): Recording {
  const ofReason = `sum by (job, outcome) (increase(${refused}[${window}]))`;
  return {
    record: share(window),
    expr: `${ofReason} / on (job) group_left () sum by (job) (increase(${verified}[${window}]))`,
  };
}

const recordings: readonly Recording[] = [
  {
    record: spend,
    // Half hours in which the balance rose (after a top-up) count as 0; unknown values (NaN) are not counted.
    expr: `avg_over_time((clamp_min(-deriv(${balance}[30m]), 0) >= 0)[1d:15m])`,
  },
  buildRefusedShare("15m"),
  buildRefusedShare("1d"),
];

const alerts: readonly Alert[] = [
  {
    name: "GatehouseSignerLow",
    expr: `${balance} / (${spend} * 86400) < ${signerDays} and ${sameTarget} ${settler} == 1`,
    for: "1h",
    severity: "warning",
    summary:
      'The signer of the facilitator {{ $labels.instance }} can pay gas for {{ $value | printf "%.1f" }} more days at the rate of the last day.',
    description: "When its balance runs out, no payment settles at {{ $labels.instance }}. Send it native currency.",
  },
  {
    name: "GatehouseSignerEmpty",
    // NaN means that the balance could not be queried, not that it is empty.
    expr: `${balance} >= 0 and ${sameTarget} ${series("gatehouse_ready_check", { check: "signer" })} == 0`,
    for: "2m",
    severity: "critical",
    summary:
      "The signer of the facilitator {{ $labels.instance }} holds {{ $value }}, less than one settlement may cost.",
    description:
      "No payment settles at {{ $labels.instance }}, so nothing is sold. Send the signer native currency now.",
  },
  {
    name: "GatehouseSettlementStuck",
    // By job, over two minutes: when another replica takes over settlement, there is briefly no value, which must not restart the ten
    // minutes.
    expr: `min_over_time((max by (job) (max_over_time(${pending}[2m])))[10m:30s]) > 0 unless on (job) sum by (job) (increase(${settled}[10m])) > 0`,
    for: "5m",
    severity: "critical",
    summary:
      "{{ $value }} settlements at the facilitator {{ $labels.job }} are in flight, and none has settled for ten minutes.",
    description:
      "Buyers of {{ $labels.job }} wait for what they paid for. Check the chain, its fees and the signer's next nonce; never delete the ledger.",
  },
  {
    name: "GatehouseSettlementOld",
    // By job, over two minutes: while another replica is taking over, none has a settlement in flight.
    expr: `max by (job) (max_over_time(${oldest}[2m])) > 600`,
    for: "1m",
    severity: "critical",
    summary:
      "A settlement at the facilitator {{ $labels.job }} has been in flight for {{ $value | humanizeDuration }}.",
    description:
      "A buyer of {{ $labels.job }} waits for a purchase, though other payments may settle. The log has the payment and the reason for the delay; never delete the ledger.",
  },
  {
    name: "GatehouseLedgerMismatch",
    // Checked every 75 s at most. Several checks must agree, so that a single check against a lagging node alerts nobody. A failed check
    // has no value.
    expr: `${mismatches} > 0`,
    for: "5m",
    severity: "critical",
    summary:
      "{{ $value }} payments that are settled in the ledger of the facilitator {{ $labels.instance }} are not on the chain.",
    description:
      "The goods sold for them at {{ $labels.instance }} were not paid for, unless the facilitator's node lags behind or lost data. Its log lists them and whether the node lags; query another node for their receipts.",
  },
  {
    name: "GatehouseLedgerNotReconciled",
    // A missing timestamp, or NaN because no check has succeeded yet, does not count as within the last five minutes.
    expr: `${settler} == 1 unless ${sameTarget} time() - ${compared} < 300`,
    for: "10m",
    severity: "warning",
    summary:
      "The facilitator {{ $labels.instance }} settles but has not compared its ledger with the chain for five minutes ({{ $value }} settler).",
    description:
      "Payments lost on the chain go undetected at {{ $labels.instance }}. Its log has the cause of the failure: its node, or its ledger's database.",
  },
  {
    name: "GatehouseRejectionsUnusual",
    expr: `${share("15m")} > 3 * ${share("1d")} and ${share("15m")} > 0.05 and sum by (job, outcome) (increase(${refused}[15m])) >= 10`,
    for: "5m",
    severity: "warning",
    summary:
      "{{ $value | humanizePercentage }} of payments at {{ $labels.job }} are rejected as {{ $labels.outcome }}, three times the usual share.",
    description:
      "At {{ $labels.job }}, a seller's price, a token's name or version, or a clock has changed, a client is broken, or somebody sends forged payments.",
  },
  {
    name: "GatehouseFacilitatorNoLeader",
    expr: `max by (job) (${settler}) == 0`,
    for: "3m",
    severity: "critical",
    summary: "No replica of the facilitator {{ $labels.job }} settles ({{ $value }} leaders).",
    description:
      "Payments at {{ $labels.job }} are verified but not settled. Check whether the replicas reach PostgreSQL, and which one holds the lease.",
  },
];

/** Alerts on payments. */
export const paymentRules: RuleGroup = { name: "gatehouse-payments", recordings, alerts };
