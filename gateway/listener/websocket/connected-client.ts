import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Caller } from "../../callers/caller.ts";
import type { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";

/** A client whose WebSocket is open. */
export type ConnectedClient = Readonly<{
  socket: WebSocket;
  /** TCP connection of the socket, for messages that are shared: those that the socket writes itself are written whole and at once. */
  connection: Socket;
  caller: Caller;
  /** Memory of its connection. */
  memory: ConnectionMemory;
  /** Trace context of the upgrade: the calls on the connection are part of that trace. */
  traceContext: TraceContext | undefined;
}>;
