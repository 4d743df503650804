import { counter, gauge, histogram } from "./metric-definition.ts";

export const resourceServer = {
  gatehouse_payment_requests_total: counter(
    "Requests for paid routes, by route and outcome; replayed: delivered again, uncharged.",
    "route",
    "outcome",
  ),
  gatehouse_payment_charged_units_total: counter(
    "Total amount charged, in the token's smallest units, by route.",
    "route",
  ),
  gatehouse_payments_in_flight: gauge("Payments being processed or delivered."),
  gatehouse_payment_claims: gauge(
    "Payments in the ledger, by state, up to 100,000 of each; settling that stays above 0 means settlements with an unknown outcome.",
    "state",
  ),
  gatehouse_channels: gauge(
    "Payment channels in the ledger; channels that are claimed and idle for ledger.retentionSeconds are deleted.",
  ),
  gatehouse_channels_unclaimed_units: gauge(
    "Amount charged through payment channels and not yet claimed, in the token's smallest units.",
    "network",
    "token",
  ),
  gatehouse_channel_claims_total: counter(
    "Claims of payment channels, by result: claimed, rejected, or unknown if the facilitator gave no outcome.",
    "result",
  ),
  gatehouse_upstream_duration_seconds: histogram(
    "Upstream response time for paid requests, by route and result.",
    "route",
    "result",
  ),
};
