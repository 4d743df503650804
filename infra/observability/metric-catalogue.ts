import { counter, gauge, histogram, type MetricDefinition } from "./metric-definition.ts";

/** Metrics of every service, on its operator listener. */
const everyService = {
  gatehouse_build_info: gauge(
    "Always 1; the labels say which service and version runs, and on which Node.",
    "service",
    "version",
    "node",
  ),
  gatehouse_time_seconds: gauge(
    "The clock of this machine at the scrape, seconds since 1970; compared with Prometheus's own clock it shows how far one of them is off.",
  ),
  gatehouse_ready_check: gauge("What /readyz looks at: 1 where it is right, 0 where it is not.", "check"),
  gatehouse_file_loaded: gauge(
    "Files that are read again as they change: 1 while what stands there is in force, 0 while it can't be used.",
    "setting",
  ),
  gatehouse_http_request_duration_seconds: histogram(
    "Time from the request's arrival to its answer's headers, by method, route and status.",
    "method",
    "route",
    "status",
  ),
  gatehouse_connections: gauge("Open connections of clients, by listener.", "listener"),
  gatehouse_connections_limit: gauge(
    "Connections that file descriptors and memory allow the listeners together at this time; the operators' listener has its own.",
  ),
  gatehouse_connections_rejected_total: counter(
    "Connections that were closed unserved. full: no room for any; address: too many of one address; rate: one address made too many a second, unanswered.",
    "listener",
    "reason",
  ),
  gatehouse_connections_shed_total: counter(
    "Idle or unfinished connections that were closed to make room for others.",
    "listener",
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const node = {
  gatehouse_condition: gauge("Status of a condition of the node: 1 True, 0 False, -1 Unknown.", "type"),
  gatehouse_condition_info: gauge("The reason in force of each condition; always 1.", "type", "reason"),
  gatehouse_verdict: gauge("How the node is as a whole, as the page says it: 1 for the level in force.", "level"),
  gatehouse_command_info: gauge(
    "1 for each command that changes this sidecar, as a person here types it.",
    "verb",
    "command",
  ),
  gatehouse_node_up: gauge("1 when the node's RPC answers."),
  gatehouse_node_height_blocks: gauge("Height that the node last answered."),
  gatehouse_node_height_unchanged_seconds: gauge("Time since the node's height last changed."),
  gatehouse_node_lag_blocks: gauge(
    "Blocks that the node is behind the median of the reference endpoints; absent while none answers.",
  ),
  gatehouse_node_rpc_latency_seconds: histogram("Time that the node takes to answer eth_blockNumber."),
  gatehouse_node_disk_used_bytes: gauge("Used bytes of the disk that holds the node's data."),
  gatehouse_node_disk_free_bytes: gauge("Free bytes of the disk that holds the node's data."),
  gatehouse_node_disk_full_in_seconds: gauge(
    "Time until that disk is full at the slope of the last day; absent while it does not fill or was not seen for long enough.",
  ),
  gatehouse_node_config_valid: gauge("1 when node.conf can be read and used."),
  gatehouse_node_config_corrections_total: counter("Times that node.conf was written by the sidecar."),
  gatehouse_node_restarts_total: counter("Restarts of the node that the sidecar began.", "cause"),
  gatehouse_node_upgrades_total: counter(
    "Upgrades of the node that ended: committed, rolled-back, given-up before its stop, or stranded between two versions.",
    "end",
  ),
  gatehouse_node_restarts_in_last_hour: gauge("Restarts that count against the budget."),
  gatehouse_node_prune_enabled: gauge("enable_auto_prune of PruneInfo."),
  gatehouse_node_prune_reserved_window_versions: gauge("auto_prune_reserved_window of PruneInfo."),
  gatehouse_node_prune_reserved_version: gauge("prune_reserved_version of PruneInfo."),
  gatehouse_node_prune_flushed_version: gauge("flushed_version of PruneInfo."),
  gatehouse_node_prune_real_reserved_version: gauge("real_prune_reserved_version of PruneInfo."),
  gatehouse_reconciles_total: counter("Passes of the upkeep that came to their end."),
  gatehouse_reconcile_failures_total: counter(
    "Passes of the upkeep that failed or took longer than upkeep.passDeadlineMs.",
  ),
  gatehouse_reconcile_last_success_timestamp_seconds: gauge(
    "When the upkeep last made a whole pass (seconds since 1970); 0 before the first.",
  ),
  gatehouse_event_loop_delay_seconds_total: counter(
    "Time by which the event loop ran late, which everything that the process does waited for.",
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const gateway = {
  gatehouse_gateway_call_duration_seconds: histogram(
    "Time from a call's arrival to its answer, by method of the catalogue, tier and outcome.",
    "method",
    "tier",
    "outcome",
  ),
  gatehouse_gateway_node_duration_seconds: histogram(
    "Time from querying the node to the end of its answer, by method of the catalogue; shared and cached reads have none.",
    "method",
  ),
  gatehouse_gateway_limited_total: counter("What a limit refused, by limit and tier.", "limit", "tier"),
  gatehouse_gateway_reads_total: counter(
    "Reads answered from the cache, by sharing an equal call under way (coalesced), and by the node, by method.",
    "method",
    "source",
  ),
  gatehouse_gateway_calls_in_flight: gauge(
    "Calls to the node under way; reads of a batch that go together count as one in 25.",
  ),
  gatehouse_gateway_calls_queued: gauge("Calls that wait for a connection to the node, or for others of their caller."),
  gatehouse_gateway_buffered_bytes: gauge(
    "Bytes held in memory for clients: requests that are not whole, calls under way, answers that wait to be taken.",
  ),
  gatehouse_gateway_cache_bytes: gauge("Bytes of cached answers."),
  gatehouse_gateway_cache_entries: gauge("Cached answers."),
  gatehouse_gateway_websocket_clients: gauge("WebSocket clients of all listeners."),
  gatehouse_gateway_subscriptions: gauge("Subscriptions of all clients."),
  gatehouse_gateway_upstream_subscriptions: gauge("Subscriptions at the node."),
  gatehouse_gateway_upstream_connected: gauge("Whether the node's WebSocket is connected: 1, or 0."),
  gatehouse_gateway_head_age_seconds: gauge(
    "Age of the node's latest block by the time that it bears; absent while it is not known.",
  ),
  gatehouse_gateway_head_block_number: gauge(
    "Number of the node's latest block as the gateway knows it; absent until it does.",
  ),
  gatehouse_gateway_websocket_drops_total: counter(
    "WebSocket clients that the gateway dropped: too slow, the node's connection lost, or silent.",
    "reason",
  ),
  gatehouse_gateway_upstream_gaps_total: counter(
    "Losses of the node's WebSocket: bridged, subscribers were sent what they missed; closed, they were not.",
    "outcome",
  ),
  gatehouse_gateway_slow_path_requests_total: counter(
    "HTTP requests that were not answered on the fast path, at several times its CPU, by listener.",
    "listener",
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/** Additional metrics of a sidecar with `volume.claim`. */
const volume = {
  gatehouse_volume_requested_bytes: gauge("Size that the claim of the node's volume requests."),
  gatehouse_volume_growths_total: counter("Times the claim was made to grow."),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const facilitator = {
  gatehouse_facilitator_verify_duration_seconds: histogram(
    "Time to verify a payment, by outcome: valid, a reason code, or an error's code.",
    "outcome",
  ),
  gatehouse_facilitator_settle_duration_seconds: histogram(
    "Time from a settle call to its answer, by outcome: settled, a reason code, or an error's code.",
    "outcome",
  ),
  gatehouse_facilitator_verifications_rejected_total: counter(
    "Calls of /verify that were refused because too many were under way, by bound: of one seller, or of all.",
    "bound",
  ),
  gatehouse_facilitator_rpc_duration_seconds: histogram(
    "Time of one HTTP request to the chain's node, by outcome.",
    "outcome",
  ),
  gatehouse_facilitator_rpc_calls_total: counter("JSON-RPC calls to the chain's node; several share one request."),
  gatehouse_facilitator_settlements_pending: gauge("Settlements under way."),
  gatehouse_facilitator_oldest_settlement_seconds: gauge(
    "Age of the oldest settlement under way, by the ledger; 0 when none is, and in replicas that stand ready.",
  ),
  gatehouse_facilitator_signer_next_nonce: gauge("Nonce that the signer's next transaction gets."),
  gatehouse_facilitator_leader: gauge("1 in the process that settles, 0 in replicas that stand ready."),
  gatehouse_facilitator_signer_balance_native: gauge(
    "What the signer holds to pay for gas, in the chain's native currency.",
  ),
  gatehouse_facilitator_gas_paid_native_total: counter(
    "What the signer paid for gas, in the chain's native currency, by payee of the settlement (of `payees`; else other).",
    "payee",
  ),
  gatehouse_facilitator_seller_calls_total: counter(
    "Calls of sellers (of `sellers`), by operation and result: served, or limited by the seller's own rate.",
    "seller",
    "operation",
    "result",
  ),
  gatehouse_facilitator_seller_gas_paid_native_total: counter(
    "What the signer paid for gas, in the chain's native currency, by seller (of `sellers`).",
    "seller",
  ),
  gatehouse_facilitator_seller_gas_day_native: gauge(
    "What settlements of a seller (of `sellers`) cost since midnight UTC, in the chain's native currency, by the ledger; NaN while it can't be read.",
    "seller",
  ),
  gatehouse_facilitator_ledger_mismatches: gauge(
    "Settlements that the ledger says are settled and the chain does not have, found in the last hour; NaN after a look that failed.",
  ),
  gatehouse_facilitator_ledger_reconciled_timestamp_seconds: gauge(
    "When the ledger was last compared with the chain without a failure, in seconds since 1970.",
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const resourceServer = {
  gatehouse_payment_requests_total: counter(
    "Requests for sold routes, by route and by how they ended.",
    "route",
    "outcome",
  ),
  gatehouse_payment_charged_units_total: counter(
    "Sum of what was charged, in the token's smallest units, by route.",
    "route",
  ),
  gatehouse_payments_in_flight: gauge("Payments that are worked on or delivered now."),
  gatehouse_payment_claims: gauge(
    "Payments in the ledger, by state, up to 100,000 of each; settling that stays above 0 are settlements whose outcome is unknown.",
    "state",
  ),
  gatehouse_upstream_duration_seconds: histogram(
    "Time that the upstream took for a paid request, by route and result.",
    "route",
    "result",
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const engineProxy = {
  gatehouse_engine_proxy_requests_total: counter(
    "Requests to the Docker Engine by what they were; kind refused: did not pass.",
    "kind",
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/**
 * All of Gatehouse's own metrics, by the component that exposes them. Rules use only these names, and a test compares the list, both ways,
 * with the running services' `/metrics` responses.
 */
export const metricsByPart = { everyService, node, gateway, volume, facilitator, resourceServer, engineProxy } as const;

/** All of Gatehouse's own metrics. */
export const metricCatalogue = {
  ...everyService,
  ...node,
  ...gateway,
  ...volume,
  ...facilitator,
  ...resourceServer,
  ...engineProxy,
} as const;
