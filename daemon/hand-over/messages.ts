/** Lifecycle steps of a service process, in order. */
export type ServiceStep = "prepared" | "ready" | "yielded";

/** Messages from a service process to its supervisor. */
export type ServiceMessage =
  /** The process's settings are valid; it waits for permission to proceed. */
  | Readonly<{ type: "prepared" }>
  /** The process accepts requests. */
  | Readonly<{ type: "ready"; urls: Readonly<Record<string, string>> }>
  /** The process has released all exclusive resources. */
  | Readonly<{ type: "yielded" }>
  /** The process listens on a new socket, attached to the message. */
  | Readonly<{ type: "socket"; name: string }>
  /** The process listens on the inherited sockets of this name. */
  | Readonly<{ type: "uses"; name: string }>;

/** Messages from the supervisor to a service process. */
export type HandOverMessage =
  /** A listening socket, attached to the message. */
  | Readonly<{ type: "socket"; name: string }>
  | Readonly<{ type: "proceed" }>
  | Readonly<{ type: "serving" }>
  | Readonly<{ type: "yield" }>
  /** The next process is serving: the receiver drains its work, then exits. */
  | Readonly<{ type: "leave" }>
  | Readonly<{ type: "settings"; file: SettingsInForce }>;

/** The active settings, identified by their file's hash. */
export type SettingsInForce = Readonly<{
  path: string;
  /** SHA-256 of the active text, in hexadecimal. */
  sha256: string;
  /** Problem with the file's current text; absent if that text is active. */
  refused?: string | undefined;
}>;

/** The environment variable that tells a process that it runs under a supervisor; the process's own children don't inherit it. */
export const handOverVariable = "GATEHOUSE_HAND_OVER";
