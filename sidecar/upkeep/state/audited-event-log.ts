import { join } from "node:path";
import type { AuditAction } from "#daemon/audit/audit-entry.ts";
import { openAuditLog, type AuditDependencies, type AuditLog } from "#daemon/audit/audit-log.ts";
import type { AuditSettings } from "#daemon/audit/audit-settings.ts";
import type { EventKind, EventLog } from "#status/event-log.ts";
import type { UpkeepState } from "./upkeep-state.ts";

/** Which events are changes, and what the audit log calls them; what was only observed is none. */
const actions: Readonly<Record<EventKind, AuditAction | undefined>> = {
  condition: undefined,
  version: undefined,
  write: "node-conf-written",
  prune: "auto-pruning-switched-on",
  restart: "node-restart",
  "roll-back": "node-rolled-back",
  hold: "hold-changed",
  volume: "volume-grown",
  adopt: "sidecar-adopted",
  upgrade: "node-upgrade",
};

/** Writes each event that is a change to the audit log, before it is an event that anybody can see. */
export function auditEvents(events: EventLog, audit: Pick<AuditLog, "addNow">): EventLog {
  return {
    add: (kind, message, why, change = {}) => {
      const action = actions[kind];
      if (action !== undefined)
        audit.addNow({ outcome: "success", by: "sidecar", ...change, action, message, reason: why });
      events.add(kind, message, why);
    },
    list: events.list,
  };
}

/** Opens a sidecar's audit log, by default beside its state, whose file system is left alone while it hangs. */
export function openSidecarAudit(
  { auditLog }: Readonly<{ auditLog: AuditSettings }>,
  { directory, store }: Pick<UpkeepState, "directory" | "store">,
  { log, mask }: Pick<AuditDependencies, "log" | "mask">,
): AuditLog {
  const path = auditLog.path ?? join(directory, "sidecar-audit.jsonl");
  const isReachable = () => store.failure()?.reason !== "Hanging";
  return openAuditLog({ ...auditLog, path }, { service: "sidecar", log, mask, clock: Date.now, isReachable });
}
