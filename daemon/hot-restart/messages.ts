export type ServiceStep = "prepared" | "ready" | "yielded";

export type ServiceMessage =
  /** The process's settings are valid; it waits for permission to proceed. */
  | Readonly<{ type: "prepared" }>
  | Readonly<{ type: "ready"; urls: Readonly<Record<string, string>> }>
  /** The process has released all exclusive resources. */
  | Readonly<{ type: "yielded" }>
  /** The process listens on a new socket, attached to the message. */
  | Readonly<{ type: "socket"; name: string }>
  /** The process listens on the inherited sockets of this name. */
  | Readonly<{ type: "uses"; name: string }>;

export type HotRestartMessage =
  | Readonly<{ type: "socket"; name: string }>
  | Readonly<{ type: "proceed" }>
  | Readonly<{ type: "serving" }>
  | Readonly<{ type: "yield" }>
  /** The next process is serving: the receiver drains its work, then exits. */
  | Readonly<{ type: "leave" }>
  | Readonly<{ type: "settings"; file: ActiveSettings }>;

/** The active settings, identified by their file's hash. */
export type ActiveSettings = Readonly<{
  path: string;
  sha256: string;
  /** Problem with the file's current text; absent if that text is active. */
  rejected?: string | undefined;
}>;

/** The environment variable that tells a process that it runs under a supervisor; the process's own children don't inherit it. */
export const hotRestartVariable = "GATEHOUSE_HAND_OVER";
