import { counter, gauge, histogram } from "./metric-definition.ts";
import { resourceServer } from "./resource-server-metrics.ts";

const everyService = {
  gatehouse_build_info: gauge(
    "Always 1; the labels are the service, its version and the Node.js version.",
    "service",
    "version",
    "node",
  ),
  gatehouse_time_seconds: gauge(
    "Wall clock at scrape time, in seconds since 1970; compare it with Prometheus's clock to detect clock drift.",
  ),
  gatehouse_ready_check: gauge("Readiness check of /readyz: 1 passing, 0 failing.", "check"),
  gatehouse_file_loaded: gauge(
    "Hot-reloaded files: 1 while the current content is active, 0 while it is invalid.",
    "setting",
  ),
  gatehouse_http_request_duration_seconds: histogram(
    "Time from a request's arrival to its response headers, by method, route and status.",
    "method",
    "route",
    "status",
  ),
  gatehouse_connections: gauge("Open client connections, by listener.", "listener"),
  gatehouse_connections_limit: gauge(
    "Max connections for all listeners, given current file descriptors and memory; the admin port has its own limit.",
  ),
  gatehouse_connections_rejected_total: counter(
    "Connections closed unserved. full: connection limit reached; address: too many from one address; rate: too many per second from one address, closed without a response.",
    "listener",
    "reason",
  ),
  gatehouse_connections_shed_total: counter("Idle or unfinished connections closed to admit others.", "listener"),
};

const node = {
  gatehouse_condition: gauge("Status of a condition of the node: 1 True, 0 False, -1 Unknown.", "type"),
  gatehouse_condition_info: gauge("Active reason of each condition; always 1.", "type", "reason"),
  gatehouse_verdict: gauge("Overall state of the node, as on the status page: 1 for the active level.", "level"),
  gatehouse_command_info: gauge(
    "1 for each command that changes this sidecar, as typed on this host.",
    "verb",
    "command",
  ),
  gatehouse_node_up: gauge("1 if the node's RPC responds."),
  gatehouse_node_height_blocks: gauge("Last height reported by the node."),
  gatehouse_node_height_unchanged_seconds: gauge("Time since the node's height last changed."),
  gatehouse_node_lag_blocks: gauge("Blocks behind the median of the reference endpoints; absent while none responds."),
  gatehouse_node_rpc_latency_seconds: histogram("Latency of eth_blockNumber on the node."),
  gatehouse_node_disk_used_bytes: gauge("Used bytes of the disk that holds the node's data."),
  gatehouse_node_disk_free_bytes: gauge("Free bytes of the disk that holds the node's data."),
  gatehouse_node_disk_full_in_seconds: gauge(
    "Forecast time until that disk is full, from the last day's trend; absent while it is not filling or observations are too few.",
  ),
  gatehouse_node_config_valid: gauge("1 if node.conf is readable and usable."),
  gatehouse_node_config_corrections_total: counter("Writes of node.conf by the sidecar."),
  gatehouse_node_restarts_total: counter("Node restarts initiated by the sidecar.", "cause"),
  gatehouse_node_upgrades_total: counter(
    "Finished upgrades of the node: committed, rolled-back, or stranded between two versions.",
    "end",
  ),
  gatehouse_node_restarts_in_last_hour: gauge("Restarts counted against the budget."),
  gatehouse_node_prune_enabled: gauge("enable_auto_prune of PruneInfo."),
  gatehouse_node_prune_reserved_window_versions: gauge("auto_prune_reserved_window of PruneInfo."),
  gatehouse_node_prune_reserved_version: gauge("prune_reserved_version of PruneInfo."),
  gatehouse_node_prune_flushed_version: gauge("flushed_version of PruneInfo."),
  gatehouse_node_prune_real_reserved_version: gauge("real_prune_reserved_version of PruneInfo."),
  gatehouse_reconciles_total: counter("Completed reconciles."),
  gatehouse_reconcile_failures_total: counter("Reconciles that failed or took longer than 30 seconds."),
  gatehouse_reconcile_last_success_timestamp_seconds: gauge(
    "Time of the last complete reconcile (seconds since 1970); 0 before the first.",
  ),
  gatehouse_event_loop_delay_seconds_total: counter("Total event loop delay, which delays all work in the process."),
};

const gateway = {
  gatehouse_gateway_call_duration_seconds: histogram(
    "Time from a call's arrival to its response, by catalogue method, tier and outcome.",
    "method",
    "tier",
    "outcome",
  ),
  gatehouse_gateway_node_duration_seconds: histogram(
    "Time from querying the node to the end of its response, by catalogue method; shared and cached reads are not counted.",
    "method",
  ),
  gatehouse_gateway_limited_total: counter(
    "Calls and connections rejected by a limit, by limit and tier.",
    "limit",
    "tier",
  ),
  gatehouse_gateway_reads_total: counter(
    "Reads served from the cache, by sharing an identical in-flight call (coalesced), and by the node, by method.",
    "method",
    "source",
  ),
  gatehouse_gateway_calls_in_flight: gauge("In-flight calls to the node; batched reads count as one in 25."),
  gatehouse_gateway_calls_queued: gauge(
    "Calls queued for a connection to the node or for their caller's concurrency limit.",
  ),
  gatehouse_gateway_buffered_bytes: gauge(
    "Bytes buffered for clients: incomplete requests, in-flight calls, unread responses.",
  ),
  gatehouse_gateway_cache_bytes: gauge("Size of cached responses."),
  gatehouse_gateway_cache_entries: gauge("Number of cached responses."),
  gatehouse_gateway_websocket_clients: gauge("WebSocket clients on all listeners."),
  gatehouse_gateway_subscriptions: gauge("Subscriptions held by all clients."),
  gatehouse_gateway_upstream_subscriptions: gauge("Subscriptions on the node."),
  gatehouse_gateway_upstream_connected: gauge("1 if the node's WebSocket is connected, 0 if not."),
  gatehouse_gateway_head_age_seconds: gauge(
    "Age of the node's latest block by its timestamp, or else since first seen; absent while unknown.",
  ),
  gatehouse_gateway_head_block_number: gauge(
    "Number of the node's latest block known to the gateway; absent until known.",
  ),
  gatehouse_gateway_websocket_drops_total: counter(
    "WebSocket clients dropped by the gateway: too slow, node connection lost, or unresponsive.",
    "reason",
  ),
  gatehouse_gateway_upstream_gaps_total: counter(
    "Lost connections to the node's WebSocket, by outcome: bridged (subscribers received the missed events) or closed (they did not).",
    "outcome",
  ),
  gatehouse_gateway_slow_path_requests_total: counter(
    "HTTP requests not served on the fast path, at several times its CPU cost, by listener.",
    "listener",
  ),
};

/** Additional metrics for a sidecar with `volume.claim`. */
const volume = {
  gatehouse_volume_requested_bytes: gauge("Requested size of the node's volume claim."),
  gatehouse_volume_growths_total: counter("Times the claim was expanded."),
};

const facilitator = {
  gatehouse_facilitator_verify_duration_seconds: histogram(
    "Time to verify a payment, by outcome: valid, terms_check (no payment), a reason code, or an error's code.",
    "outcome",
    "network",
  ),
  gatehouse_facilitator_settle_duration_seconds: histogram(
    "Time from a settle request to its response, by outcome: settled, a reason code, or an error's code.",
    "outcome",
    "network",
  ),
  gatehouse_facilitator_verifications_rejected_total: counter(
    "/verify calls rejected because too many were in flight, by limit: of one seller, or of all.",
    "bound",
  ),
  gatehouse_facilitator_rpc_duration_seconds: histogram(
    "Duration of one HTTP request to the chain's node, by outcome.",
    "outcome",
    "network",
  ),
  gatehouse_facilitator_rpc_calls_total: counter("JSON-RPC calls to the node; several may share a request.", "network"),
  gatehouse_facilitator_settlements_pending: gauge("In-flight settlements.", "network"),
  gatehouse_facilitator_oldest_settlement_seconds: gauge(
    "Age of the oldest in-flight settlement in the ledger; 0 if none, and in standby replicas.",
    "network",
  ),
  gatehouse_facilitator_signer_next_nonce: gauge(
    "Nonce of a signer's next transaction, once it was read; none in standby replicas.",
    "signer",
    "network",
  ),
  gatehouse_facilitator_signer_transactions_pending: gauge("A signer's transactions in flight.", "signer", "network"),
  gatehouse_facilitator_signer_usable: gauge(
    "1 for a signer that can settle, 0 for one with too little for gas or a key that can't sign.",
    "signer",
    "network",
  ),
  gatehouse_facilitator_leader: gauge("1 in the process that settles, 0 in standby replicas.", "network"),
  gatehouse_facilitator_signer_balance_native: gauge(
    "A signer's balance for gas, in native currency.",
    "signer",
    "network",
  ),
  gatehouse_facilitator_gas_paid_native_total: counter(
    "Gas paid by the signer, in the chain's native currency, by payee (those in `payees`; the rest as other).",
    "payee",
    "network",
  ),
  gatehouse_facilitator_seller_calls_total: counter(
    "Calls from the sellers in `sellers`, by operation and result: served, or limited by the seller's own rate limit.",
    "seller",
    "operation",
    "result",
  ),
  gatehouse_facilitator_seller_gas_paid_native_total: counter(
    "Gas paid by the signer, in the chain's native currency, by seller in `sellers`.",
    "seller",
    "network",
  ),
  gatehouse_facilitator_seller_gas_day_native: gauge(
    "Cost of a seller's settlements in the last 24 hours, for each seller in `sellers`, in the chain's native currency, from the ledger; NaN while it can't be read.",
    "seller",
    "network",
  ),
  gatehouse_facilitator_ledger_mismatches: gauge(
    "Settlements that are settled in the ledger but missing on the chain, found in the last hour; NaN after a failed check.",
    "network",
  ),
  gatehouse_facilitator_ledger_reconciled_timestamp_seconds: gauge(
    "Time of the last successful comparison of the ledger with the chain, in seconds since 1970.",
    "network",
  ),
};

const engineProxy = {
  gatehouse_engine_proxy_requests_total: counter(
    "Requests to the Docker Engine, by kind; kind rejected: not forwarded.",
    "kind",
  ),
};

/**
 * All of Gatehouse's own metrics, by the component that exposes them. Rules use only these names. A test compares the list, both ways, with
 * the `/metrics` responses of the running services.
 */
export const metricsByPart = { everyService, node, gateway, volume, facilitator, resourceServer, engineProxy };

export const metricCatalogue = {
  ...everyService,
  ...node,
  ...gateway,
  ...volume,
  ...facilitator,
  ...resourceServer,
  ...engineProxy,
};
