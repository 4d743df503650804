import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Caller } from "../../callers/caller.ts";
import type { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";

/** A client whose WebSocket is open. */
export type ConnectedClient = Readonly<{
  socket: WebSocket;
  /** What the socket stands on, for messages that are shared: what the socket writes itself is written whole and at once. */
  connection: Socket;
  caller: Caller;
  /** What is held for its connection. */
  memory: ConnectionMemory;
  /** What the upgrade said: the calls on the connection are part of that trace. */
  traceContext: TraceContext | undefined;
}>;
