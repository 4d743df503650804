export type EventLevel = "info" | "warn" | "error" | "fatal";

export type LogEventRow = Readonly<{
  level: EventLevel;
  /** What the operator should do, as a sentence; the line itself says what happened. */
  act?: string;
  /** The event's page in docs/runbooks/, without the extension. */
  runbook?: string;
}>;

export type LogEventTable = Readonly<Record<string, LogEventRow>>;
