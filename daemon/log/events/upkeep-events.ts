import type { LogEventTable } from "./event-row.ts";

/** Events of a sidecar, `gatehouse restore` and `gatehouse volume-snapshot`. */
export const upkeepEvents = {
  "condition-recovered": {
    level: "info",
    means: "A condition of the node is True or Unknown again; the message has its name.",
  },
  "condition-failed": {
    level: "warn",
    means: "A condition of the node is False; `gatehouse.condition` has its type and reason.",
    act: "The status page links the condition's runbook.",
    runbook: "condition-false",
  },
  "reconcile-failed": {
    level: "error",
    means: "A reconcile failed; it is retried.",
    act: "If this recurs, the node is unattended: report it as a bug, with the stack.",
    runbook: "reconcile-stopped",
  },
  "program-output-not-saved": {
    level: "warn",
    means:
      "The output of ops, compose or the node can't be saved to a file, so messages about a failed restart have less detail.",
    act: "Make `upkeep.stateDirectory` writable.",
  },
  "config-not-watched": {
    level: "warn",
    means: "The system sends no file events for node.conf; it is polled instead.",
    act: "To detect drift at once, raise the system's limit on inotify watches.",
    runbook: "reconcile-stopped",
  },
  "config-cleanup-failed": {
    level: "warn",
    means: "Temporary files from an earlier run can't be removed from node.conf's directory.",
    act: "Give the sidecar's user write access to node.conf's directory, or remove them.",
  },
  "healthy-config-unreadable": {
    level: "warn",
    means: "The configuration with which the node was last healthy can't be read; no rollback is possible.",
    act: "Check `upkeep.stateDirectory`.",
    runbook: "reconcile-stopped",
  },
  "healthy-config-not-saved": {
    level: "error",
    means:
      "The configuration with which the node is healthy could not be saved; a rollback would restore an earlier one.",
    act: "Make `upkeep.stateDirectory` writable.",
    runbook: "reconcile-stopped",
  },
  "config-before-edit-not-saved": {
    level: "warn",
    means: "The previous node.conf could not be saved for comparison after an external change.",
    act: "Check `upkeep.stateDirectory`.",
  },
  "node-moved": { level: "info", means: "The node has moved, as set in `upkeep.movedFrom`." },
  "old-state-ignored": { level: "info", means: "State in the current directory is not used." },
  "state-migrated": { level: "info", means: "State from an older version was migrated." },
  "control-not-listening": {
    level: "warn",
    means: "`gatehouse resume`, `restart`, `adopt` and `upgrade` can't reach this sidecar through its socket.",
    act: "Set `upkeep.controlToken` and use `--url`, or set another `upkeep.stateDirectory`.",
  },
  "prune-switch-failed": {
    level: "error",
    means: "Enabling auto-pruning failed because of an internal error; it is retried.",
    runbook: "pruning-stalled",
  },
  "node-cli-check-failed": {
    level: "error",
    means: "node_cli could not be run after a restart or an upgrade; the next scheduled check follows.",
    runbook: "pruning-stalled",
  },
  "restart-failed": {
    level: "error",
    means: "A restart of the node failed because of an internal error.",
    act: "Check whether the node is running; `gatehouse status` shows what the sidecar does next.",
    runbook: "node-down",
  },
  "node-down-after-restart": {
    level: "error",
    means: "The node did not recover after a restart; a rollback starts.",
    runbook: "paused",
  },
  resumed: { level: "info", means: "The pause after a rollback is over." },
  "plan-changed": { level: "info", means: "The plan awaiting `gatehouse adopt` has changed." },
  "upgrade-stage": { level: "info", means: "An upgrade of the node has reached its next stage." },
  "upgrade-verified": { level: "info", means: "An upgrade of the node was verified and is complete." },
  "upgrade-not-verified": {
    level: "error",
    means: "An upgrade of the node was not verified; `gatehouse.end` has the resulting state.",
    runbook: "upgrade-failed",
  },
  "upgrade-blocked": {
    level: "error",
    means: "An upgrade of the node is blocked; the message states what it waits for.",
    runbook: "upgrade-failed",
  },
  "upgrade-failed": {
    level: "error",
    means: "An upgrade step failed because of an internal error; it is retried.",
    runbook: "upgrade-failed",
  },
  "data-of-another-chain": {
    level: "warn",
    means: "The node's first block has changed: its data is from another chain, and is the baseline from now on.",
    act: "If this was not intended, check what the node was started with.",
  },
  "data-block-replaced": {
    level: "warn",
    means: "A finalized block has another hash, also on the chain's other nodes or for a day.",
    act: "If the chain was not rolled back on purpose, compare the node with others that you trust (`lag.references`).",
  },
  "data-check-failed": {
    level: "error",
    means: "The check for corrupt data failed because of an internal error; it is retried.",
    runbook: "data-suspect",
  },
  "restore-begun": { level: "info", means: "`gatehouse restore` starts to download its archive." },
  "restore-progress": { level: "info", means: "Progress of a restore." },
  "restore-done": { level: "info", means: "The data directory is restored." },
  "releases-not-fetched": {
    level: "warn",
    means: "The list at upgrade.releasesUrl could not be fetched or used; the last valid one stays active.",
    act: "Open the URL, and correct it or `upgrade.releasesUrl`.",
  },
  "restore-unverified": {
    level: "warn",
    means: "No checksum was set, so the archive is not verified.",
    act: "Compare the SHA-256 in the line with the publisher's, and set `archive.sha256`.",
  },
  "restore-leftover": { level: "info", means: "The data directory contains data and is left unchanged." },
  "restore-interrupted": {
    level: "warn",
    means: "The archive download was interrupted; it is resumed.",
    act: "No action needed, unless it recurs: then check the archive's server.",
  },
  "snapshot-taken": { level: "info", means: "A snapshot of the volume was taken." },
  "snapshot-deleted": { level: "info", means: "An old snapshot beyond the retention count was deleted." },
} as const satisfies LogEventTable;
