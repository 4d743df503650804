import type { EventLevel, LogEventRow, LogEventTable } from "./event-row.ts";
import { channelEvents, paymentEvents } from "./payment-events.ts";

const asBug = "The devnet is for development only: restart it, and report a bug if this recurs.";

const devnetEvents = {
  "pushgateway-is-stand-in": { level: "warn", act: "Install the real Pushgateway for anything but development." },
  "pushgateway-is-real": { level: "info" },
  "pushgateway-ended": {
    level: "fatal",
    act: "Read its last log lines; a supervisor restarts it.",
    runbook: "metrics-not-arriving",
  },
  "chain-lost": { level: "fatal", act: asBug },
  "devnet-call-failed": { level: "error", act: asBug },
  "devnet-message-failed": { level: "error", act: asBug },
  "block-not-made": { level: "error", act: asBug },
  "transaction-dropped": { level: "warn", act: "Send it again." },
  "anvil-left-behind": { level: "warn", act: "No action needed." },
  "metrics-not-pushed": {
    level: "warn",
    act: "Start the Pushgateway, or correct its address in node.conf.",
    runbook: "metrics-not-arriving",
  },
} as const satisfies LogEventTable;

const upkeepEvents = {
  "condition-recovered": { level: "info" },
  "condition-unknown": { level: "info" },
  "condition-failed": {
    level: "warn",
    act: "Follow the condition's runbook, which the line links.",
  },
  "reconcile-failed": {
    level: "error",
    act: "If this recurs, the node is unattended: report it as a bug, with the stack.",
    runbook: "reconcile-stopped",
  },
  "program-output-not-saved": { level: "warn", act: "Make `upkeep.stateDirectory` writable." },
  "config-not-watched": {
    level: "warn",
    act: "To detect drift at once, raise the system's limit on inotify watches.",
    runbook: "reconcile-stopped",
  },
  "config-cleanup-failed": {
    level: "warn",
    act: "Give the sidecar's user write access to node.conf's directory, or remove them.",
  },
  "healthy-config-unreadable": { level: "warn", act: "Check `upkeep.stateDirectory`.", runbook: "reconcile-stopped" },
  "healthy-config-not-saved": {
    level: "error",
    act: "Make `upkeep.stateDirectory` writable.",
    runbook: "reconcile-stopped",
  },
  "config-before-edit-not-saved": { level: "warn", act: "Check `upkeep.stateDirectory`." },
  "node-moved": { level: "info" },
  "control-not-listening": {
    level: "warn",
    act: "Set `upkeep.controlToken` and use `--url`, or set another `upkeep.stateDirectory`.",
  },
  "prune-switch-failed": { level: "error", runbook: "pruning-stalled" },
  "node-cli-check-failed": { level: "error", runbook: "pruning-stalled" },
  "restart-failed": {
    level: "error",
    act: "Check whether the node is running; `gatehouse status` shows what the sidecar does next.",
    runbook: "node-down",
  },
  "plan-changed": { level: "info" },
  "upgrade-stage": { level: "info" },
  "upgrade-blocked": { level: "error", runbook: "upgrade-failed" },
  "upgrade-failed": { level: "error", runbook: "upgrade-failed" },
  "data-of-another-chain": { level: "warn", act: "If this was not intended, check what the node was started with." },
  "data-block-replaced": {
    level: "warn",
    act: "If the chain was not rolled back on purpose, compare the node with others that you trust (`lag.references`).",
  },
  "data-check-failed": { level: "error", runbook: "data-suspect" },
  "restore-begun": { level: "info" },
  "restore-progress": { level: "info" },
  "restore-done": { level: "info" },
  "releases-not-fetched": { level: "warn", act: "Open the URL, and correct it or `upgrade.releasesUrl`." },
  "restore-unverified": {
    level: "warn",
    act: "Compare the SHA-256 in the line with the publisher's, and set `archive.sha256`.",
  },
  "restore-leftover": { level: "info" },
  "restore-interrupted": { level: "warn", act: "No action needed, unless it recurs: then check the archive's server." },
  "snapshot-taken": { level: "info" },
  "snapshot-deleted": { level: "info" },
} as const satisfies LogEventTable;

const gatewayEvents = {
  call: { level: "info" },
  "call-slow": { level: "warn", runbook: "gateway-latency" },
  "rate-store-connected": { level: "info" },
  "rate-store-lost": { level: "warn", act: "Check Redis and `rateStore.redisUrl`.", runbook: "rate-store-lost" },
  "batch-not-served": {
    level: "warn",
    act: "No action needed. If it recurs, lower the gateway's batch size for the node.",
  },
  "upstream-connected": { level: "info" },
  "upstream-disconnected": { level: "warn", runbook: "gateway-link-lost" },
  "upstream-unreachable": { level: "warn", act: "Check `node.webSocketUrl`.", runbook: "gateway-link-lost" },
  "node-check-failed": {
    level: "error",
    act: "The next check runs as scheduled. If this recurs, report it as a bug, with the stack.",
    runbook: "node-down",
  },
  "key-set-unreadable": {
    level: "warn",
    act: "Make the URL available before they expire; after that, all tokens are rejected.",
  },
  "proxy-not-trusted": { level: "warn", act: "If it is yours, add it to `callers.trustedProxies`." },
  "proxy-header-missing": {
    level: "warn",
    act: "Make it send `X-Forwarded-For`.",
  },
  "spans-recovered": { level: "info" },
  "spans-not-sent": { level: "warn", act: "Check `tracing.otlpUrl` and the collector." },
} as const satisfies LogEventTable;

const processEvents = {
  "setting-unused": { level: "warn", act: "Set the setting that the line names, or remove this one." },
  "service-ready": { level: "info" },
  "service-stopping": { level: "info" },
  "service-stop-waits": { level: "info" },
  "service-stopped": { level: "info" },
  "stop-unclean": { level: "error", act: "Read the startup failure first; it caused this one." },
  "stop-cut-off": { level: "error", act: "Restart the service; it resumes the aborted work." },
  "log-level-changed": { level: "warn", act: "Send SIGUSR2 again when done: `debug` is verbose." },
  "log-lines-dropped": { level: "warn", act: "Check the log collector." },
  "task-failed": {
    level: "error",
    act: "It is retried automatically. If this recurs, report it as a bug, with the stack.",
  },
  "request-failed": {
    level: "error",
    act: "Report it as a bug and include the stack trace.",
    runbook: "gateway-errors",
  },
  "file-reloaded": { level: "info" },
  "file-rejected": { level: "error", runbook: "file-rejected" },
  "change-made": { level: "info" },
  "engine-call-failed": {
    level: "warn",
    act: "Check the engine: `docker info` on its host.",
    runbook: "restart-budget-exhausted",
  },
  "engine-call-rejected": {
    level: "warn",
    act: "Find out who else uses the proxy's socket: a sidecar stays within its limits.",
  },
} as const satisfies LogEventTable;

const known = {
  ...processEvents,
  ...gatewayEvents,
  ...upkeepEvents,
  ...paymentEvents,
  ...channelEvents,
  ...devnetEvents,
};

/** The events of a level, by `event.action`. */
export type LogEvent<Level extends EventLevel = EventLevel> = {
  [Name in keyof typeof known]: (typeof known)[Name]["level"] extends Level ? Name : never;
}[keyof typeof known];

/** All named events of the services, by name. */
export const logEvents: Readonly<Record<LogEvent, LogEventRow>> = known;

/** The same events by topic, as in docs/log-events.md. */
export const logEventChapters: Readonly<Record<string, Readonly<Record<string, LogEventRow>>>> = {
  "Any service": processEvents,
  Gateway: gatewayEvents,
  "Sidecar, restore and snapshots": upkeepEvents,
  "Facilitator and resource server": { ...paymentEvents, ...channelEvents },
  Devnet: devnetEvents,
};
