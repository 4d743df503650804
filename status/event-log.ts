import type { Clock } from "#daemon/clock.ts";

/** Something that happened or was done. */
export type SidecarEvent = Readonly<{
  /** ISO 8601. */
  at: string;
  kind: EventKind;
  /** What happened; a sentence that stands alone. */
  message: string;
  /** Why it was done, where that is not part of the sentence. */
  why?: string;
}>;

export type EventKind =
  | "condition"
  | "write"
  | "edit"
  | "prune"
  | "restart"
  | "roll-back"
  | "hold"
  | "version"
  | "volume"
  | "adopt"
  | "upgrade";

/** Events of what was only observed. */
export type ObservationKind = "condition" | "version";

/** Events of what was done, or was to be done. */
export type ChangeKind = Exclude<EventKind, ObservationKind>;

/** What the audit log says of an event that is a change, besides the event itself. */
export type EventChange = Readonly<{
  /** Who did it: `sidecar` by itself, the command that a person ran, or `somebody else`. */
  by: string;
  /** `unknown` where the end is another event's. */
  outcome: "success" | "failure" | "unknown";
  before?: unknown;
  after?: unknown;
}>;

/** What the sidecar did by itself. */
export const doneBySidecar = { by: "sidecar", outcome: "success" } as const;

/** A change before it is made. */
export type BeginningChange = Omit<EventChange, "outcome">;

/** The last events, newest first; kept over restarts of the sidecar. */
export type EventLog = Readonly<{
  add: {
    (kind: ObservationKind, message: string, why?: string): void;
    (kind: ChangeKind, message: string, why: string | undefined, change: EventChange): void;
  };
  /** Has the audit log say what is about to be done, its outcome `unknown`; no event that anybody sees. */
  begin: (kind: ChangeKind, message: string, why: string | undefined, change: BeginningChange) => void;
  /** Has the audit log say that what was tried failed, and why; no event that anybody sees, because a condition shows it. */
  fail: (kind: ChangeKind, message: string, why: string, change: BeginningChange) => void;
  list: () => readonly SidecarEvent[];
}>;

/** How many events are kept. */
export const eventsKept = 100;

/** Creates an event log that lasts as long as its process. */
export function createRecentEvents(clock: Clock): EventLog {
  let events: readonly SidecarEvent[] = [];
  return {
    add: (kind: EventKind, message: string, why?: string) => {
      const at = new Date(clock.wallMs()).toISOString();
      events = [{ at, kind, message, ...(why === undefined ? {} : { why }) }, ...events].slice(0, eventsKept);
    },
    begin: () => undefined,
    fail: () => undefined,
    list: () => events,
  };
}
