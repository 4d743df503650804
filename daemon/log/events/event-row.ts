/** Log levels of events. */
export type EventLevel = "info" | "warn" | "error" | "fatal";

/** Row of docs/log-events.md. */
export type LogEventRow = Readonly<{
  level: EventLevel;
  /** What the operator should do, as a sentence; the line itself says what happened. */
  act?: string;
  /** The event's page in docs/runbooks/, without the extension. */
  runbook?: string;
}>;

/** Events of one service or of several, by `event.action`. */
export type LogEventTable = Readonly<Record<string, LogEventRow>>;
