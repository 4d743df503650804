import type { LogEventTable } from "./event-row.ts";

export const upkeepEvents = {
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
