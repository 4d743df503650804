import { type Dashboard, each, perInstance, quantile, rateBy, selected, variables } from "./dashboard.ts";

const settle = "gatehouse_facilitator_settle_duration_seconds_bucket";
const balance = selected("gatehouse_facilitator_signer_balance_native");

/** Payments: sales, outcomes, and whether the signer can keep paying for gas. */
export const paymentsDashboard: Dashboard = {
  uid: "gatehouse-payments",
  title: "Gatehouse / Payments",
  description: "What is sold by x402: requests by outcome, verification and settlement, the signer, the ledgers.",
  rows: [
    {
      title: "Sales",
      panels: [
        {
          title: "Requests for sold routes, by outcome",
          description: "Requests a second by how they ended: offered (402), delivered, refused, failed.",
          unit: "reqps",
          width: 12,
          queries: [{ expr: rateBy("outcome", "gatehouse_payment_requests_total"), legend: "{{outcome}}" }],
        },
        {
          title: "Charged, by route",
          description: "Smallest units of the token that were charged a second.",
          unit: "short",
          width: 12,
          queries: [{ expr: rateBy("route", "gatehouse_payment_charged_units_total"), legend: "{{route}}" }],
        },
        {
          title: "Payments in flight",
          description: "Payments being processed or delivered.",
          unit: "short",
          queries: [perInstance("gatehouse_payments_in_flight")],
        },
        {
          title: "Claims by state",
          description: "Payments in the ledger. Settling that stays above 0 are settlements whose outcome is unknown.",
          unit: "short",
          queries: [{ expr: `sum by (state) (${selected("gatehouse_payment_claims")})`, legend: "{{state}}" }],
          alerts: ["GatehouseSettlementStuck"],
        },
        {
          title: "Upstream's duration",
          description: "99th percentile of the time that the upstream took for a paid request, by route.",
          unit: "s",
          queries: [
            { expr: quantile(0.99, "route", "gatehouse_upstream_duration_seconds_bucket"), legend: "{{route}}" },
          ],
        },
      ],
    },
    {
      title: "Verification and settlement",
      panels: [
        {
          title: "Verifications by outcome",
          description: "Payments that were judged a second: valid, or the reason of the refusal.",
          unit: "reqps",
          width: 12,
          queries: [
            { expr: rateBy("outcome", "gatehouse_facilitator_verify_duration_seconds_count"), legend: "{{outcome}}" },
          ],
          alerts: ["GatehouseRejectionsUnusual"],
        },
        {
          title: "Settlements by outcome",
          description: "Calls of /settle a second: settled, or why not.",
          unit: "reqps",
          width: 12,
          queries: [
            { expr: rateBy("outcome", "gatehouse_facilitator_settle_duration_seconds_count"), legend: "{{outcome}}" },
          ],
          alerts: ["GatehouseSettlementStuck"],
        },
        {
          title: "Settlement's duration",
          description:
            "Time from a call of /settle to its answer, which waits for the receipt: block times, not milliseconds.",
          unit: "s",
          queries: [
            { expr: quantile(0.5, "", settle), legend: "p50" },
            { expr: quantile(0.99, "", settle), legend: "p99" },
          ],
          alerts: ["GatehouseSettlementStuck"],
        },
        {
          title: "Settlements under way",
          description: "Settlements that were begun and have no outcome yet.",
          unit: "short",
          queries: [perInstance("gatehouse_facilitator_settlements_pending")],
          alerts: ["GatehouseSettlementStuck"],
        },
        {
          title: "Oldest settlement",
          description:
            "For how long the oldest settlement has been under way; more than some minutes is one that hangs.",
          unit: "s",
          threshold: { value: 600 },
          queries: [perInstance("gatehouse_facilitator_oldest_settlement_seconds")],
          alerts: ["GatehouseSettlementOld"],
        },
        {
          title: "Ledger against chain",
          description:
            "Settlements that the ledger says are settled and the chain does not have, found in the last hour.",
          unit: "short",
          queries: [perInstance("gatehouse_facilitator_ledger_mismatches")],
          alerts: ["GatehouseLedgerMismatch", "GatehouseLedgerNotReconciled"],
        },
        {
          title: "Requests to the chain's node",
          description: "99th percentile of the facilitator's requests to its node, by outcome.",
          unit: "s",
          queries: [
            {
              expr: quantile(0.99, "outcome", "gatehouse_facilitator_rpc_duration_seconds_bucket"),
              legend: "{{outcome}}",
            },
          ],
        },
      ],
    },
    {
      title: "Signer and leader",
      panels: [
        {
          title: "Signer's balance",
          description: "Signer's balance for gas, in the chain's native currency.",
          unit: "none",
          width: 6,
          queries: [{ expr: balance, legend: each }],
          alerts: ["GatehouseSignerEmpty"],
        },
        {
          title: "Days left",
          description:
            "Days for which the signer can pay at the rate of the last day; nothing while it spends nothing.",
          unit: "none",
          kind: "stat",
          width: 6,
          queries: [
            {
              expr: `${balance} / (gatehouse:facilitator_signer_spend:rate1d{${variables}} * 86400)`,
              legend: each,
            },
          ],
          alerts: ["GatehouseSignerLow"],
          threshold: { value: 7, low: true },
        },
        {
          title: "Gas paid",
          description: "What the signer paid for gas in a day, by payee: as the chain charges it, by limit or by use.",
          unit: "none",
          width: 6,
          queries: [
            {
              expr: `sum by (payee) (increase(${selected("gatehouse_facilitator_gas_paid_native_total")}[1d]))`,
              legend: "{{payee}}",
            },
          ],
        },
        {
          title: "Next nonce",
          description: "Nonce of the signer's next transaction. It stands still while nothing is settled.",
          unit: "none",
          width: 6,
          queries: [perInstance("gatehouse_facilitator_signer_next_nonce")],
        },
        {
          title: "Who settles",
          description: "1 at the replica that settles. Exactly one has to.",
          unit: "bool_yes_no",
          kind: "stat",
          width: 6,
          queries: [perInstance("gatehouse_facilitator_leader")],
          alerts: ["GatehouseFacilitatorNoLeader"],
        },
      ],
    },
  ],
};
