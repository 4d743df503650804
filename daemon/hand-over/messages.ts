/** Steps on a process's way into service and out of it, in this order. */
export type ServiceStep = "prepared" | "ready" | "yielded";

/** Messages from a service's process to its supervisor. */
export type ServiceMessage =
  /** Its settings are right, and it waits for its turn. */
  | Readonly<{ type: "prepared" }>
  /** It takes requests. */
  | Readonly<{ type: "ready"; urls: Readonly<Record<string, string>> }>
  /** It has let go of all that one process alone may hold. */
  | Readonly<{ type: "yielded" }>
  /** It has begun to listen on a socket, which comes with the message. */
  | Readonly<{ type: "socket"; name: string }>
  /** It listens on the sockets of this name that it was given. */
  | Readonly<{ type: "uses"; name: string }>;

/** Messages from the supervisor to a service's process. */
export type HandOverMessage =
  /** A listening socket, which comes with the message. */
  | Readonly<{ type: "socket"; name: string }>
  | Readonly<{ type: "proceed" }>
  | Readonly<{ type: "serving" }>
  | Readonly<{ type: "yield" }>
  /** The next process serves: it ends what it has begun, in its own time, and then itself. */
  | Readonly<{ type: "leave" }>
  | Readonly<{ type: "settings"; file: SettingsInForce }>;

/** The settings in force, by their file's hash. */
export type SettingsInForce = Readonly<{
  path: string;
  /** SHA-256 of the text in force, in hexadecimal. */
  sha256: string;
  /** Problem of the text that stands there now; absent if that text is in force. */
  refused?: string | undefined;
}>;

/** The variable by which a process knows that its service is handed over to it; its own children don't get it. */
export const handOverVariable = "GATEHOUSE_HAND_OVER";
