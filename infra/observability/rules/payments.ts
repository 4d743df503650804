import type { Alert, Recording, RuleGroup } from "../alert.ts";
import { series } from "../series.ts";

const sameTarget = "on (job, instance, network)";
const balance = series("gatehouse_facilitator_signer_balance_native");
const settler = series("gatehouse_facilitator_leader");
const mismatches = series("gatehouse_facilitator_ledger_mismatches");
const compared = series("gatehouse_facilitator_ledger_reconciled_timestamp_seconds");
const pending = series("gatehouse_facilitator_settlements_pending");
const oldest = series("gatehouse_facilitator_oldest_settlement_seconds");
const settled = series("gatehouse_facilitator_settle_duration_seconds_count", { outcome: "settled" });
const verified = series("gatehouse_facilitator_verify_duration_seconds_count");
const refused = series("gatehouse_facilitator_verify_duration_seconds_count", { outcome: { notIn: ["valid"] } });

const usable = series("gatehouse_facilitator_signer_usable");

/** Number of days for which a signer's balance must last. */
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

/** Settlements in flight for ten minutes, and none that completes. */
const noneSettles = `min_over_time((max by (job, network) (max_over_time(${pending}[2m])))[10m:30s]) > 0 unless on (job, network) sum by (job, network) (increase(${settled}[10m])) > 0`;

const alerts: readonly Alert[] = [
  {
    name: "GatehouseSignerLow",
    // One that settles nothing spends nothing, so that its days can't be computed.
    expr: `(${balance} / (${spend} * 86400) < ${signerDays} or ${usable} == 0) and ${sameTarget} ${settler} == 1`,
    for: "1h",
    severity: "warning",
    summary:
      'The signer {{ $labels.signer }} of the facilitator {{ $labels.instance }} on {{ $labels.network }} can pay gas for {{ $value | printf "%.1f" }} more days at the rate of the last day.',
    description:
      "When its balance runs out, the other signers settle; without any, no payment settles on {{ $labels.network }} at {{ $labels.instance }}. Send it native currency. If its balance is sufficient, its key can't sign: check /readyz.",
  },
  {
    name: "GatehouseSignerLow",
    // NaN means that the balance could not be queried, not that it is empty.
    expr: `${balance} >= 0 and ${sameTarget} max by (job, instance, network) (${usable}) == 0`,
    for: "2m",
    severity: "critical",
    summary:
      "The signer {{ $labels.signer }} of the facilitator {{ $labels.instance }} on {{ $labels.network }} has a balance of {{ $value }} and can't settle.",
    description:
      "No signer can, so no payment settles on {{ $labels.network }} at {{ $labels.instance }} and nothing is sold there. Send it native currency now; if its balance is sufficient, its key can't sign: check /readyz.",
  },
  {
    name: "GatehouseSettlementStuck",
    // By job, over two minutes: while another replica takes over, none has a settlement in flight, which must not restart the wait.
    expr: `(${noneSettles}) or max by (job, network) (max_over_time(${oldest}[2m])) > 600`,
    for: "5m",
    severity: "critical",
    summary:
      "Settlements at the facilitator {{ $labels.job }} on {{ $labels.network }} hang: one has been in flight for ten minutes, or none completes.",
    description:
      "Buyers of {{ $labels.job }} are waiting for paid responses. Check the log for the payment and the reason, the chain, its fees and the signer's next nonce; never delete the ledger.",
  },
  {
    name: "GatehouseLedgerMismatch",
    // Checked every 75 s at most. Several checks must agree, so that a single check against a lagging node alerts nobody. A failed check
    // has no value.
    expr: `${mismatches} > 0`,
    for: "5m",
    severity: "critical",
    summary:
      "{{ $value }} payments that are settled in the ledger of the facilitator {{ $labels.instance }} are not on the chain {{ $labels.network }}.",
    description:
      "The responses sold for them at {{ $labels.instance }} were not paid, unless the facilitator's node lags behind or lost data. Its log lists them and whether the node lags; query another node for their receipts.",
  },
  {
    name: "GatehouseLedgerNotReconciled",
    // A missing timestamp, or NaN because no check has succeeded yet, does not count as within the last five minutes.
    expr: `${settler} == 1 unless ${sameTarget} time() - ${compared} < 300`,
    for: "10m",
    severity: "warning",
    summary:
      "The facilitator {{ $labels.instance }} settles but has not compared its ledger with the chain {{ $labels.network }} for five minutes ({{ $value }} settler).",
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
    expr: `max by (job, network) (${settler}) == 0`,
    for: "3m",
    severity: "critical",
    summary: "No replica of the facilitator {{ $labels.job }} settles on {{ $labels.network }} ({{ $value }} leaders).",
    description:
      "Payments at {{ $labels.job }} are verified but not settled. Check whether the replicas reach PostgreSQL, and which one has the lease.",
  },
];

/** Alerts on payments. */
export const paymentRules: RuleGroup = { name: "gatehouse-payments", recordings, alerts };
