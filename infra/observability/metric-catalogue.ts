/** One metric as a service registers it: its Prometheus type and the labels that the service gives it. */
type MetricDefinition = Readonly<{ type: "counter" | "gauge" | "histogram"; labels: readonly string[] }>;

const counter = <const L extends readonly string[]>(...labels: L) => ({ type: "counter", labels }) as const;
const gauge = <const L extends readonly string[]>(...labels: L) => ({ type: "gauge", labels }) as const;
const histogram = <const L extends readonly string[]>(...labels: L) => ({ type: "histogram", labels }) as const;

/** What every service exposes at its listener for operators. */
const everyService = {
  gatehouse_build_info: gauge("service", "version", "node"),
  gatehouse_time_seconds: gauge(),
  gatehouse_ready_check: gauge("check"),
  gatehouse_file_in_force: gauge("setting"),
  gatehouse_http_request_duration_seconds: histogram("method", "route", "status"),
  gatehouse_connections: gauge("listener"),
  gatehouse_connections_limit: gauge(),
  gatehouse_connections_refused_total: counter("listener", "reason"),
  gatehouse_connections_shed_total: counter("listener"),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const node = {
  gatehouse_condition: gauge("type"),
  gatehouse_condition_info: gauge("type", "reason"),
  gatehouse_verdict: gauge("level"),
  gatehouse_command_info: gauge("verb", "command"),
  gatehouse_node_up: gauge(),
  gatehouse_node_height_blocks: gauge(),
  gatehouse_node_height_unchanged_seconds: gauge(),
  gatehouse_node_lag_blocks: gauge(),
  gatehouse_node_rpc_latency_seconds: histogram(),
  gatehouse_node_disk_used_bytes: gauge(),
  gatehouse_node_disk_free_bytes: gauge(),
  gatehouse_node_disk_full_in_seconds: gauge(),
  gatehouse_node_config_valid: gauge(),
  gatehouse_node_config_corrections_total: counter(),
  gatehouse_node_restarts_total: counter("cause"),
  gatehouse_node_upgrades_total: counter("end"),
  gatehouse_node_restarts_in_last_hour: gauge(),
  gatehouse_node_prune_enabled: gauge(),
  gatehouse_node_prune_reserved_window_versions: gauge(),
  gatehouse_node_prune_reserved_version: gauge(),
  gatehouse_node_prune_flushed_version: gauge(),
  gatehouse_node_prune_real_reserved_version: gauge(),
  gatehouse_upkeep_passes_total: counter(),
  gatehouse_upkeep_pass_failures_total: counter(),
  gatehouse_upkeep_last_success_timestamp_seconds: gauge(),
  gatehouse_event_loop_late_seconds_total: counter(),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const gateway = {
  gatehouse_gateway_call_duration_seconds: histogram("method", "tier", "outcome"),
  gatehouse_gateway_node_duration_seconds: histogram("method"),
  gatehouse_gateway_limited_total: counter("limit", "tier"),
  gatehouse_gateway_reads_total: counter("method", "source"),
  gatehouse_gateway_calls_in_flight: gauge(),
  gatehouse_gateway_calls_waiting: gauge(),
  gatehouse_gateway_held_bytes: gauge(),
  gatehouse_gateway_cache_bytes: gauge(),
  gatehouse_gateway_cache_entries: gauge(),
  gatehouse_gateway_websocket_clients: gauge(),
  gatehouse_gateway_subscriptions: gauge(),
  gatehouse_gateway_upstream_subscriptions: gauge(),
  gatehouse_gateway_link_open: gauge(),
  gatehouse_gateway_head_age_seconds: gauge(),
  gatehouse_gateway_head_block_number: gauge(),
  gatehouse_gateway_websocket_drops_total: counter("reason"),
  gatehouse_gateway_link_gaps_total: counter("outcome"),
  gatehouse_gateway_slow_path_requests_total: counter("listener"),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/** What a sidecar with `volume.claim` exposes besides. */
const volume = {
  gatehouse_volume_requested_bytes: gauge(),
  gatehouse_volume_growths_total: counter(),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const facilitator = {
  gatehouse_facilitator_verify_duration_seconds: histogram("outcome"),
  gatehouse_facilitator_settle_duration_seconds: histogram("outcome"),
  gatehouse_facilitator_rpc_duration_seconds: histogram("outcome"),
  gatehouse_facilitator_rpc_calls_total: counter(),
  gatehouse_facilitator_settlements_pending: gauge(),
  gatehouse_facilitator_oldest_settlement_seconds: gauge(),
  gatehouse_facilitator_signer_next_nonce: gauge(),
  gatehouse_facilitator_settler: gauge(),
  gatehouse_facilitator_signer_balance_native: gauge(),
  gatehouse_facilitator_ledger_mismatches: gauge(),
  gatehouse_facilitator_ledger_compared_timestamp_seconds: gauge(),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const resourceServer = {
  gatehouse_payment_requests_total: counter("route", "outcome"),
  gatehouse_payment_charged_units_total: counter("route"),
  gatehouse_payments_in_flight: gauge(),
  gatehouse_payment_claims: gauge("state"),
  gatehouse_upstream_duration_seconds: histogram("route", "result"),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

const engineProxy = {
  gatehouse_engine_proxy_requests_total: counter("kind"),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/**
 * Every metric of Gatehouse's own, by the part that exposes it. Rules are made of these names alone, and a test compares the list, both
 * ways, with what the running services answer at `/metrics`.
 */
export const metricsByPart = { everyService, node, gateway, volume, facilitator, resourceServer, engineProxy } as const;

/** Every metric of Gatehouse's own. */
export const metricCatalogue = {
  ...everyService,
  ...node,
  ...gateway,
  ...volume,
  ...facilitator,
  ...resourceServer,
  ...engineProxy,
} as const;

type Catalogue = typeof metricCatalogue;

/** A metric as it is registered. */
type MetricName = keyof Catalogue;

type HistogramName = { [N in MetricName]: Catalogue[N]["type"] extends "histogram" ? N : never }[MetricName];

/** What a query may name: a counter, a gauge, or one of the series of a histogram. */
export type SeriesName = Exclude<MetricName, HistogramName> | `${HistogramName}_${"bucket" | "sum" | "count"}`;

/** The labels that a series has from its service. */
export type LabelOf<N extends SeriesName> = N extends MetricName
  ? Catalogue[N]["labels"][number]
  : N extends `${infer H extends HistogramName}_bucket`
    ? Catalogue[H]["labels"][number] | "le"
    : N extends `${infer H extends HistogramName}_${"sum" | "count"}`
      ? Catalogue[H]["labels"][number]
      : never;
