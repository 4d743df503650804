import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Caller } from "../../callers/caller.ts";
import type { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";

/** A client with an open WebSocket. */
export type ConnectedClient = Readonly<{
  socket: WebSocket;
  /** The socket's TCP connection, for shared messages; the socket's own messages are written whole and at once. */
  connection: Socket;
  caller: Caller;
  memory: ConnectionMemory;
  /** Trace context of the upgrade request: calls on the connection are part of that trace. */
  traceContext: TraceContext | undefined;
}>;
