import type { Clock } from "#daemon/clock.ts";

export type SidecarEvent = Readonly<{
  /** ISO 8601. */
  at: string;
  kind: EventKind;
  /** The event as a self-contained sentence. */
  message: string;
  /** Reason for the change, if the sentence does not give it. */
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

/** Kinds of events that record an observation only. */
export type ObservationKind = "condition" | "version";

/** Kinds of changes, made or intended. */
export type ChangeKind = Exclude<EventKind, ObservationKind>;

/** Fields that the audit log adds to an event that is a change. */
export type EventChange = Readonly<{
  /** Who made the change: `sidecar` for its own changes, the command that an operator ran, or `somebody else`. */
  by: string;
  /** `unknown` if a different event reports the outcome. */
  outcome: "success" | "failure" | "unknown";
  before?: unknown;
  after?: unknown;
}>;

export const doneBySidecar = { by: "sidecar", outcome: "success" } as const;

export type StartedChange = Omit<EventChange, "outcome">;

/** The latest events, newest first; retained across sidecar restarts. */
export type EventLog = Readonly<{
  add: {
    (kind: ObservationKind, message: string, why?: string): void;
    (kind: ChangeKind, message: string, why: string | undefined, change: EventChange): void;
  };
  /** Records in the audit log that a change is about to be made, with outcome `unknown`. Adds no visible event. */
  begin: (kind: ChangeKind, message: string, why: string | undefined, change: StartedChange) => void;
  /** Records in the audit log that a change failed, and why. Adds no visible event, because a condition shows the failure. */
  fail: (kind: ChangeKind, message: string, why: string, change: StartedChange) => void;
  list: () => readonly SidecarEvent[];
}>;

export const storedEventsMax = 100;

/** Creates an event log whose contents are lost when its process exits. */
export function createRecentEvents(clock: Clock): EventLog {
  let events: readonly SidecarEvent[] = [];
  return {
    add: (kind: EventKind, message: string, why?: string) => {
      const at = new Date(clock.wallMs()).toISOString();
      events = [{ at, kind, message, ...(why === undefined ? {} : { why }) }, ...events].slice(0, storedEventsMax);
    },
    begin: () => undefined,
    fail: () => undefined,
    list: () => events,
  };
}
