import { devnetEvents } from "./devnet-events.ts";
import { gatewayEvents } from "./gateway-events.ts";
import type { EventLevel, LogEventRow } from "./event-row.ts";
import { channelEvents, paymentEvents } from "./payment-events.ts";
import { processEvents } from "./process-events.ts";
import { upkeepEvents } from "./upkeep-events.ts";

const known = {
  ...processEvents,
  ...gatewayEvents,
  ...upkeepEvents,
  ...paymentEvents,
  ...channelEvents,
  ...devnetEvents,
};

/** The events of a level, by `event.action`. */
export type LogEvent<Level extends EventLevel = EventLevel> = {
  [Name in keyof typeof known]: (typeof known)[Name]["level"] extends Level ? Name : never;
}[keyof typeof known];

/** All named events of the services, by name. */
export const logEvents: Readonly<Record<LogEvent, LogEventRow>> = known;

/** The same events by topic, as in docs/log-events.md. */
export const logEventChapters: Readonly<Record<string, Readonly<Record<string, LogEventRow>>>> = {
  "Any service": processEvents,
  Gateway: gatewayEvents,
  "Sidecar, restore and snapshots": upkeepEvents,
  "Facilitator and resource server": { ...paymentEvents, ...channelEvents },
  Devnet: devnetEvents,
};
