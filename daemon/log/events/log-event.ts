/** Levels at which an event is written. */
export type EventLevel = "info" | "warn" | "error" | "fatal";

/** What is said of an event in docs/log-events.md. */
export type LogEventRow = Readonly<{
  level: EventLevel;
  /** What has happened; a sentence. */
  means: string;
  /** What a person does about it; a sentence. */
  act?: string;
  /** Its page in docs/runbooks/, without the ending. */
  runbook?: string;
}>;

/** Events of one service or of several, by `event.action`. */
export type LogEventTable = Readonly<Record<string, LogEventRow>>;
