/** Something that happened or was done. */
export type SidecarEvent = Readonly<{ at: string; kind: EventKind; message: string }>;

export type EventKind = "condition" | "write" | "prune" | "restart" | "roll-back" | "hold" | "version";

/** The last events, newest first; kept over restarts of the sidecar. */
export type EventLog = Readonly<{
  add: (kind: EventKind, message: string) => void;
  list: () => readonly SidecarEvent[];
}>;

/** How many events are kept. */
export const eventsKept = 100;
