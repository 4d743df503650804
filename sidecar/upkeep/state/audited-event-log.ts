import type { AuditAction } from "#daemon/audit/audit-entry.ts";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { ChangeKind, EventChange, EventKind, EventLog, ObservationKind } from "#status/event-log.ts";

/** Audit log actions, by kind of change. */
const actions: Readonly<Record<ChangeKind, AuditAction>> = {
  write: "node-conf-written",
  edit: "node-conf-edited",
  prune: "auto-pruning-switched-on",
  restart: "node-restart",
  "roll-back": "node-rolled-back",
  hold: "hold-changed",
  volume: "volume-grown",
  adopt: "sidecar-adopted",
  upgrade: "node-upgrade",
};

/** Creates an event log that writes each change event to the audit log first, before it becomes visible. */
export function auditEvents(events: EventLog, audit: AuditLog): EventLog {
  const lastBegun = new Map<ChangeKind, string>();
  const lastFailed = new Map<ChangeKind, string>();
  function add(kind: ObservationKind, message: string, why?: string): void;
  function add(kind: ChangeKind, message: string, why: string | undefined, change: EventChange): void;
  function add(kind: EventKind, message: string, why?: string, change?: EventChange): void {
    if (kind === "condition" || kind === "version") return events.add(kind, message, why);
    if (change === undefined) throw new Error(`an event of kind ${kind} does not say who did it`);
    for (const last of [lastBegun, lastFailed]) last.delete(kind);
    audit.add({ ...change, action: actions[kind], message, reason: why });
    events.add(kind, message, why, change);
  }
  const begin: EventLog["begin"] = (kind, message, why, change) => {
    const begun = JSON.stringify([message, why, change]);
    // A change that fails at each iteration would fill the log.
    if (begun === lastBegun.get(kind)) return;
    lastBegun.set(kind, begun);
    audit.add({ ...change, outcome: "unknown", action: actions[kind], message: `Begun: ${message}`, reason: why });
  };
  const fail: EventLog["fail"] = (kind, message, why, change) => {
    const failed = JSON.stringify([message, why, change]);
    if (failed === lastFailed.get(kind)) return;
    lastFailed.set(kind, failed);
    audit.add({ ...change, outcome: "failure", action: actions[kind], message, reason: why });
  };
  return { add, begin, fail, list: events.list };
}
