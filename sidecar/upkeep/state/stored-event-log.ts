import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Clock } from "../../clock.ts";
import { eventsKept, type EventKind, type EventLog, type SidecarEvent } from "../../tell/event-log.ts";

/** Keeps the last events in the sidecar's state. */
export function storedEventLog(database: DatabaseSync, clock: Clock): EventLog {
  const insert = database.prepare("INSERT INTO event (at_ms, kind, message, why) VALUES (?, ?, ?, ?)");
  const prune = database.prepare("DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - ?");
  const select = database.prepare("SELECT at_ms, kind, message, why FROM event ORDER BY id DESC LIMIT ?");
  return {
    add: (kind, message, why) => {
      insert.run(Math.round(clock.wallMs()), kind, message, why ?? null);
      prune.run(eventsKept);
    },
    list: () => select.all(eventsKept).map(eventOf),
  };
}

function eventOf(row: Record<string, SQLOutputValue>): SidecarEvent {
  const at = new Date(Number(row["at_ms"])).toISOString();
  const event = { at, kind: row["kind"] as EventKind, message: String(row["message"]) };
  return row["why"] === null ? event : { ...event, why: String(row["why"]) };
}
