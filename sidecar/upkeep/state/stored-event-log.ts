import type { SQLOutputValue } from "node:sqlite";
import type { Clock } from "#daemon/clock.ts";
import { storedEventsMax, type EventKind, type EventLog, type SidecarEvent } from "#status/event-log.ts";
import type { StateStore, StoreWrite } from "./state-store.ts";

/** Event that may not be on disk yet. */
type StoredEvent = Readonly<{ event: SidecarEvent; atMs: number }>;

/**
 * Creates a log that retains the last events in memory, and in the sidecar's state if that is writable: reports must not depend on a disk.
 * After a long time without writes, only the latest events are written, at most as many as are retained.
 */
export function createStoredEventLog(store: StateStore, clock: Clock): EventLog {
  const { database } = store;
  const insert = database.prepare("INSERT INTO event (at_ms, kind, message, why) VALUES (?, ?, ?, ?)");
  const prune = database.prepare("DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?");
  const select = database.prepare("SELECT at_ms, kind, message, why FROM event ORDER BY id DESC LIMIT ?");
  let events: readonly SidecarEvent[] = select.all(storedEventsMax).map(readEvent);
  let unwritten: readonly StoredEvent[] = [];
  const write: StoreWrite = {
    run: () => {
      for (const { event, atMs } of unwritten) insert.run(atMs, event.kind, event.message, event.why ?? null);
      prune.run(storedEventsMax);
    },
    kept: () => {
      unwritten = [];
    },
  };
  return {
    add: (kind: EventKind, message: string, why?: string) => {
      const atMs = Math.round(clock.wallMs());
      const event = { at: new Date(atMs).toISOString(), kind, message, ...(why === undefined ? {} : { why }) };
      events = [event, ...events].slice(0, storedEventsMax);
      unwritten = [...unwritten, { event, atMs }].slice(-storedEventsMax);
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
