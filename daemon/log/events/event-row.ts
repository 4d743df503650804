/** Levels at which an event is written. */
export type EventLevel = "info" | "warn" | "error" | "fatal";

/** Row of docs/log-events.md. */
export type LogEventRow = Readonly<{
  level: EventLevel;
  /** A sentence that says what has happened. */
  means: string;
  /** A sentence that says what a person should do. */
  act?: string;
  /** Its page in docs/runbooks/, without the ending. */
  runbook?: string;
}>;

/** Events of one service or of several, by `event.action`. */
export type LogEventTable = Readonly<Record<string, LogEventRow>>;
