import type { SQLOutputValue } from "node:sqlite";
import type { Clock } from "#daemon/clock.ts";
import {
  storedEventsMax,
  type EventKind,
  type EventLog,
  type SidecarEvent,
  type ChangeKind,
  type EventChange,
  type ObservationKind,
} from "#status/event-log.ts";
import type { StateStore, StoreWrite } from "./state-store.ts";
import type { AuditAction, AuditLog } from "#daemon/audit/audit-log.ts";

type StoredEvent = Readonly<{ event: SidecarEvent; atMs: number }>;

/** Keeps the last events in memory, and on disk if that is writable: reports must not depend on a disk. */
export function createStoredEventLog(store: StateStore, clock: Clock): EventLog {
  const { database } = store;
  const insert = database.prepare("INSERT INTO event (at_ms, kind, message, why) VALUES (?, ?, ?, ?)");
  const prune = database.prepare("DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?");
  const select = database.prepare("SELECT at_ms, kind, message, why FROM event ORDER BY id DESC LIMIT ?");
  let events: readonly SidecarEvent[] = select.all(storedEventsMax).map(readEvent);
  let unwrittenEvents: readonly StoredEvent[] = [];
  const write: StoreWrite = {
    run: () => {
      for (const { event, atMs } of unwrittenEvents) insert.run(atMs, event.kind, event.message, event.why ?? null);
      prune.run(storedEventsMax);
    },
    kept: () => {
      unwrittenEvents = [];
    },
  };
  return {
    add: (kind: EventKind, message: string, why?: string) => {
      const atMs = Math.round(clock.wallMs());
      const event = { at: new Date(atMs).toISOString(), kind, message, ...(why === undefined ? {} : { why }) };
      events = [event, ...events].slice(0, storedEventsMax);
      unwrittenEvents = [...unwrittenEvents, { event, atMs }].slice(-storedEventsMax);
      // Conditions also change when the node's disk fails, and this can happen before any iteration detects the failure.
      if (kind === "condition") store.defer("events", write);
      else store.write("events", write);
    },
    begin: () => undefined,
    fail: () => undefined,
    list: () => events,
  };
}

function readEvent(row: Record<string, SQLOutputValue>): SidecarEvent {
  const at = new Date(Number(row["at_ms"])).toISOString();
  const event = { at, kind: row["kind"] as EventKind, message: String(row["message"]) };
  return row["why"] === null ? event : { ...event, why: String(row["why"]) };
}

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
    if (change === undefined) throw new Error(`an event of kind ${kind} does not specify the actor`);
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
    const failureKey = JSON.stringify([message, why, change]);
    if (failureKey === lastFailed.get(kind)) return;
    lastFailed.set(kind, failureKey);
    audit.add({ ...change, outcome: "failure", action: actions[kind], message, reason: why });
  };
  return { add, begin, fail, list: events.list };
}
