import type { Clock } from "#daemon/clock.ts";
import { eventsKept, type EventLog, type SidecarEvent } from "./event-log.ts";

/** Makes an event log that lasts as long as its process. */
export function recentEvents(clock: Clock): EventLog {
  let events: readonly SidecarEvent[] = [];
  return {
    add: (kind, message, why) => {
      const at = new Date(clock.wallMs()).toISOString();
      events = [{ at, kind, message, ...(why === undefined ? {} : { why }) }, ...events].slice(0, eventsKept);
    },
    list: () => events,
  };
}
