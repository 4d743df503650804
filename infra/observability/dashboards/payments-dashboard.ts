import type { SeriesName } from "../series-name.ts";
import { type Dashboard, each, perInstance, quantile, type Query, rateBy, selected, variables } from "./dashboard.ts";

const settle = "gatehouse_facilitator_settle_duration_seconds_bucket";
const eachSigner = `{{signer}} ${each} {{network}}`;

function perNetwork(name: SeriesName): Query {
  return { expr: selected(name), legend: `${each} {{network}}` };
}

const balance = selected("gatehouse_facilitator_signer_balance_native");

/** Payments: sales, outcomes, and whether the signers can keep paying for gas. */
export const paymentsDashboard: Dashboard = {
  uid: "gatehouse-payments",
  title: "Gatehouse / Payments",
  description: "Sales through x402: requests by outcome, verification and settlement, the signers, the ledgers.",
  rows: [
    {
      title: "Sales",
      panels: [
        {
          title: "Requests for paid routes, by outcome",
          description: "Requests per second by outcome: offered (402), delivered, refused, failed.",
          unit: "reqps",
          width: 12,
          queries: [{ expr: rateBy("outcome", "gatehouse_payment_requests_total"), legend: "{{outcome}}" }],
        },
        {
          title: "Charged, by route",
          description: "Amount charged per second, in the token's smallest units.",
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
          description: "Payments in the ledger. Settling that stays above 0 means settlements with an unknown outcome.",
          unit: "short",
          queries: [{ expr: `sum by (state) (${selected("gatehouse_payment_claims")})`, legend: "{{state}}" }],
          alerts: ["GatehouseSettlementStuck"],
        },
        {
          title: "Upstream's duration",
          description: "99th percentile of the upstream's response time for a paid request, by route.",
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
          description: "Verifications per second: valid, or the rejection reason.",
          unit: "reqps",
          width: 12,
          queries: [
            { expr: rateBy("outcome", "gatehouse_facilitator_verify_duration_seconds_count"), legend: "{{outcome}}" },
          ],
          alerts: ["GatehouseRejectionsUnusual"],
        },
        {
          title: "Settlements by outcome",
          description: "/settle calls per second: settled, or the failure reason.",
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
            "Time from a /settle call to its response, which waits for the receipt: block times, not milliseconds.",
          unit: "s",
          queries: [
            { expr: quantile(0.5, "", settle), legend: "p50" },
            { expr: quantile(0.99, "", settle), legend: "p99" },
          ],
          alerts: ["GatehouseSettlementStuck"],
        },
        {
          title: "Settlements in flight",
          description: "Started settlements without an outcome yet.",
          unit: "short",
          queries: [perNetwork("gatehouse_facilitator_settlements_pending")],
          alerts: ["GatehouseSettlementStuck"],
        },
        {
          title: "Oldest settlement",
          description: "Age of the oldest in-flight settlement; more than a few minutes means that it is stuck.",
          unit: "s",
          threshold: { value: 600 },
          queries: [perNetwork("gatehouse_facilitator_oldest_settlement_seconds")],
          alerts: ["GatehouseSettlementStuck"],
        },
        {
          title: "Ledger against chain",
          description: "Settlements that are settled in the ledger but missing on the chain, found in the last hour.",
          unit: "short",
          queries: [perNetwork("gatehouse_facilitator_ledger_mismatches")],
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
      title: "Signers and leader",
      panels: [
        {
          title: "Signers' balances",
          description: "Balance of each signer for gas, in the chain's native currency.",
          unit: "none",
          width: 6,
          queries: [{ expr: balance, legend: eachSigner }],
          alerts: ["GatehouseSignerLow"],
        },
        {
          title: "Days left",
          description:
            "Days until a signer's balance runs out at the rate of the last day; empty while it spends nothing.",
          unit: "none",
          kind: "stat",
          width: 6,
          queries: [
            {
              expr: `${balance} / (gatehouse:facilitator_signer_spend:rate1d{${variables}} * 86400)`,
              legend: eachSigner,
            },
          ],
          alerts: ["GatehouseSignerLow"],
          threshold: { value: 7, low: true },
        },
        {
          title: "Gas paid",
          description: "Gas paid by the signer per day, by payee: as charged by the chain, by gas limit or gas used.",
          unit: "none",
          width: 6,
          queries: [
            {
              expr: `sum by (payee, network) (increase(${selected("gatehouse_facilitator_gas_paid_native_total")}[1d]))`,
              legend: "{{payee}} {{network}}",
            },
          ],
        },
        {
          title: "Next nonce",
          description: "Nonce of each signer's next transaction. It is flat while nothing is settled.",
          unit: "none",
          width: 6,
          queries: [{ expr: selected("gatehouse_facilitator_signer_next_nonce"), legend: eachSigner }],
        },
        {
          title: "Settling replica",
          description: "1 on the replica that settles. Exactly one must be 1 on each network.",
          unit: "bool_yes_no",
          kind: "stat",
          width: 6,
          queries: [perNetwork("gatehouse_facilitator_leader")],
          alerts: ["GatehouseFacilitatorNoLeader"],
        },
      ],
    },
  ],
};
