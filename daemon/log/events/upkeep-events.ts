import type { LogEventTable } from "./event-row.ts";

/** Events of a sidecar, `gatehouse restore` and `gatehouse volume-snapshot`. */
export const upkeepEvents = {
  "condition-recovered": {
    level: "info",
    means: "A condition of the node is True again, or Unknown; the message names it.",
  },
  "condition-failed": {
    level: "warn",
    means: "A condition of the node is False; `gatehouse.condition` says which and why.",
    act: "The status page names the runbook of the condition.",
    runbook: "condition-false",
  },
  "reconcile-failed": {
    level: "error",
    means: "A pass of the upkeep failed; it is tried again.",
    act: "If it returns, nobody looks after the node: report it as a bug, with the stack.",
    runbook: "reconcile-stopped",
  },
  "program-output-not-saved": {
    level: "warn",
    means:
      "There can be no file for what ops, compose or the node prints: it is lost, and the messages about a failed restart say less.",
    act: "Make `upkeep.stateDirectory` writable.",
  },
  "config-not-watched": {
    level: "warn",
    means: "The system gives no events for node.conf; it is read again from time to time.",
    act: "Raise the system's limit of inotify watches, if drift is to be seen at once.",
    runbook: "reconcile-stopped",
  },
  "config-cleanup-failed": {
    level: "warn",
    means: "Temporary files of an earlier run lie next to node.conf and can't be removed.",
    act: "Let the sidecar's user write to the folder of node.conf, or remove them.",
  },
  "healthy-config-unreadable": {
    level: "warn",
    means: "The configuration that the node was last healthy with can't be read: there is nothing to roll back to.",
    act: "Look at `upkeep.stateDirectory`.",
    runbook: "reconcile-stopped",
  },
  "healthy-config-not-saved": {
    level: "error",
    means:
      "The configuration that the node is healthy with could not be kept: a roll-back would restore an earlier one.",
    act: "Make `upkeep.stateDirectory` writable.",
    runbook: "reconcile-stopped",
  },
  "config-before-edit-not-saved": {
    level: "warn",
    means: "What node.conf held before somebody changed it could not be kept for comparison.",
    act: "Look at `upkeep.stateDirectory`.",
  },
  "node-moved": { level: "info", means: "The node stands elsewhere than before, by `upkeep.movedFrom`." },
  "old-state-ignored": { level: "info", means: "State in the current directory is not used." },
  "state-migrated": { level: "info", means: "The state of an older version was taken over." },
  "control-not-listening": {
    level: "warn",
    means: "`gatehouse resume`, `restart`, `adopt` and `upgrade` can't reach this sidecar by its socket.",
    act: "Set `upkeep.controlToken` and use `--url`, or name another `upkeep.stateDirectory`.",
  },
  "prune-switch-failed": {
    level: "error",
    means: "Switching auto-pruning on failed by the sidecar's own fault; it is tried again.",
    runbook: "pruning-off",
  },
  "node-cli-check-failed": {
    level: "error",
    means: "node_cli could not be queried after a restart or an upgrade; the next regular look follows.",
    runbook: "pruning-off",
  },
  "restart-failed": {
    level: "error",
    means: "A restart of the node ended by the sidecar's own fault.",
    act: "Check whether the node runs; `gatehouse status` says what the sidecar does next.",
    runbook: "node-down",
  },
  "node-down-after-restart": {
    level: "error",
    means: "The node did not come back after a restart; a roll-back begins.",
    runbook: "paused",
  },
  resumed: { level: "info", means: "The hold after a roll-back is over." },
  "plan-changed": { level: "info", means: "The plan that waits for `gatehouse adopt` is another now." },
  "upgrade-stage": { level: "info", means: "An upgrade of the node has come to its next stage." },
  "upgrade-verified": { level: "info", means: "An upgrade of the node was proved and is over." },
  "upgrade-canceled": {
    level: "info",
    means: "An upgrade of the node was withdrawn while its data were copied; the node was not stopped for it.",
  },
  "upgrade-not-verified": {
    level: "error",
    means: "An upgrade of the node did not prove itself; `gatehouse.end` says what is there now.",
    runbook: "upgrade-failed",
  },
  "upgrade-blocked": {
    level: "error",
    means: "An upgrade of the node can't go on; the message says what it waits for.",
    runbook: "upgrade-failed",
  },
  "upgrade-failed": {
    level: "error",
    means: "A step of an upgrade failed by the sidecar's own fault; it is taken up again.",
    runbook: "upgrade-failed",
  },
  "data-of-another-chain": {
    level: "warn",
    means:
      "The node has another first block than when it was last seen: its data are of another chain, and are compared from here on.",
    act: "If nobody exchanged them, see what the node was started with.",
  },
  "data-block-replaced": {
    level: "warn",
    means: "A finalised block has another hash, on the chain's other nodes, too, or for a day.",
    act: "If the chain was not rolled back on purpose, compare the node with others that you trust (`lag.references`).",
  },
  "data-look-failed": {
    level: "error",
    means: "Looking for signs of corrupt data failed by the sidecar's own fault; it is looked again.",
    runbook: "data-suspect",
  },
  "restore-begun": { level: "info", means: "`gatehouse restore` begins to load its archive." },
  "restore-progress": { level: "info", means: "How far a restore is." },
  "restore-done": { level: "info", means: "The data directory is restored." },
  "releases-not-fetched": {
    level: "warn",
    means: "The list at upgrade.releasesUrl could not be fetched or used; the last good one stays in force.",
    act: "Open the URL, and correct it or `upgrade.releasesUrl`.",
  },
  "restore-unverified": {
    level: "warn",
    means: "No checksum was given, so the archive is taken as it was downloaded.",
    act: "Compare the SHA-256 that the line has with one from the publisher, and set `archive.sha256`.",
  },
  "restore-left": { level: "info", means: "The data directory holds data, and is left as it is." },
  "restore-interrupted": {
    level: "warn",
    means: "The download of the archive broke off; it goes on where it ended.",
    act: "Nothing, unless it goes on breaking off: then look at the archive's server.",
  },
  "snapshot-taken": { level: "info", means: "A snapshot of the volume was taken." },
  "snapshot-deleted": { level: "info", means: "An old snapshot, beyond those to keep, was deleted." },
} as const satisfies LogEventTable;
