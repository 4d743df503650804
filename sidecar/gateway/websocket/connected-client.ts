import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Caller } from "../callers/caller.ts";
import type { TraceContext } from "../observe/trace-context.ts";

/** A client whose WebSocket is open. */
export type ConnectedClient = Readonly<{
  socket: WebSocket;
  /** What the socket stands on, for messages that are shared: what the socket writes itself is written whole and at once. */
  connection: Duplex;
  caller: Caller;
  /** What the upgrade said: the calls on the connection are part of that trace. */
  traceContext: TraceContext | undefined;
}>;
