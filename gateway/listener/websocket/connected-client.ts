import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Caller } from "../../callers/caller.ts";
import type { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";

/** A client with an open WebSocket. */
export type ConnectedClient = Readonly<{
  socket: WebSocket;
  /** TCP connection of the socket, for shared messages; the socket's own messages are written whole and at once. */
  connection: Socket;
  caller: Caller;
  memory: ConnectionMemory;
  /** Trace context of the upgrade: the connection's calls are part of that trace. */
  traceContext: TraceContext | undefined;
}>;
