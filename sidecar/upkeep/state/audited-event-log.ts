import { join } from "node:path";
import type { AuditAction } from "#daemon/audit/audit-entry.ts";
import { openAuditLog, type AuditDependencies, type AuditLog } from "#daemon/audit/audit-log.ts";
import type { AuditSettings } from "#daemon/audit/audit-settings.ts";
import type { ChangeKind, EventChange, EventKind, EventLog, ObservationKind } from "#status/event-log.ts";
import type { UpkeepState } from "./upkeep-state.ts";

/** Actions of the audit log, by the kind of change. */
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

/** Creates an event log that first writes each event that is a change to the audit log, before anybody can see it. */
export function auditEvents(events: EventLog, audit: Pick<AuditLog, "addNow">): EventLog {
  const lastBegun = new Map<ChangeKind, string>();
  const lastFailed = new Map<ChangeKind, string>();
  function add(kind: ObservationKind, message: string, why?: string): void;
  function add(kind: ChangeKind, message: string, why: string | undefined, change: EventChange): void;
  function add(kind: EventKind, message: string, why?: string, change?: EventChange): void {
    if (kind === "condition" || kind === "version") return events.add(kind, message, why);
    if (change === undefined) throw new Error(`an event of kind ${kind} does not say who did it`);
    for (const last of [lastBegun, lastFailed]) last.delete(kind);
    audit.addNow({ ...change, action: actions[kind], message, reason: why });
    events.add(kind, message, why, change);
  }
  const begin: EventLog["begin"] = (kind, message, why, change) => {
    const begun = JSON.stringify([message, why, change]);
    // A change that fails at each pass would fill the file.
    if (begun === lastBegun.get(kind)) return;
    lastBegun.set(kind, begun);
    audit.addNow({ ...change, outcome: "unknown", action: actions[kind], message: `Begun: ${message}`, reason: why });
  };
  const fail: EventLog["fail"] = (kind, message, why, change) => {
    const failed = JSON.stringify([message, why, change]);
    if (failed === lastFailed.get(kind)) return;
    lastFailed.set(kind, failed);
    audit.addNow({ ...change, outcome: "failure", action: actions[kind], message, reason: why });
  };
  return { add, begin, fail, list: events.list };
}

/** Opens a sidecar's audit log, by default next to its state; that file system is left alone while it hangs. */
export function openSidecarAudit(
  { auditLog }: Readonly<{ auditLog: AuditSettings }>,
  { directory, store }: Pick<UpkeepState, "directory" | "store">,
  { log, mask }: Pick<AuditDependencies, "log" | "mask">,
): AuditLog {
  const path = auditLog.path ?? join(directory, "sidecar-audit.jsonl");
  const isReachable = () => store.failure()?.reason !== "Hanging";
  return openAuditLog({ ...auditLog, path }, { service: "sidecar", log, mask, clock: Date.now, isReachable });
}
