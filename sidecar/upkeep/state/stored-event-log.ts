import type { SQLOutputValue } from "node:sqlite";
import type { Clock } from "#daemon/clock.ts";
import { eventsKept, type EventKind, type EventLog, type SidecarEvent } from "#status/event-log.ts";
import type { StateStore, StoreWrite } from "./state-store.ts";

/** An event that may not be on the disk yet. */
type StoredEvent = Readonly<{ event: SidecarEvent; atMs: number }>;

/**
 * Keeps the last events in memory, and in the sidecar's state as far as that can be written: what reports must not depend on a disk. What was
 * not written for long is written with what is left of it, never more than is kept.
 */
export function createStoredEventLog(store: StateStore, clock: Clock): EventLog {
  const { database } = store;
  const insert = database.prepare("INSERT INTO event (at_ms, kind, message, why) VALUES (?, ?, ?, ?)");
  const prune = database.prepare("DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?");
  const select = database.prepare("SELECT at_ms, kind, message, why FROM event ORDER BY id DESC LIMIT ?");
  let events: readonly SidecarEvent[] = select.all(eventsKept).map(eventOf);
  let unwritten: readonly StoredEvent[] = [];
  const write: StoreWrite = {
    run: () => {
      for (const { event, atMs } of unwritten) insert.run(atMs, event.kind, event.message, event.why ?? null);
      prune.run(eventsKept);
    },
    kept: () => {
      unwritten = [];
    },
  };
  return {
    add: (kind: EventKind, message: string, why?: string) => {
      const atMs = Math.round(clock.wallMs());
      const event = { at: new Date(atMs).toISOString(), kind, message, ...(why === undefined ? {} : { why }) };
      events = [event, ...events].slice(0, eventsKept);
      unwritten = [...unwritten, { event, atMs }].slice(-eventsKept);
      // Conditions change when the node's disk dies, too, of which no pass knows yet.
      if (kind === "condition") store.defer("events", write);
      else store.write("events", write);
    },
    begin: () => undefined,
    fail: () => undefined,
    list: () => events,
  };
}

function eventOf(row: Record<string, SQLOutputValue>): SidecarEvent {
  const at = new Date(Number(row["at_ms"])).toISOString();
  const event = { at, kind: row["kind"] as EventKind, message: String(row["message"]) };
  return row["why"] === null ? event : { ...event, why: String(row["why"]) };
}
