import type { Socket } from "node:net";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { SlowReaders } from "../wire/slow-readers.ts";
import type { PeerInfo } from "../callers/request-facts.ts";
import type { RequestContext } from "./listener-context.ts";

/** Memory of the connections that node:http serves; each connection is monitored for how fast its client reads responses. */
export type HttpConnections = Readonly<{ memoryOf: (socket: Socket, facts: PeerInfo) => ConnectionMemory }>;

type Known = { readonly memory: ConnectionMemory; facts: PeerInfo };

/** Creates the memory of each connection on its first request and retains it until the connection closes. */
export function createHttpConnections({ memory, addressOf }: RequestContext, readers: SlowReaders): HttpConnections {
  const bySocket = new Map<Socket, Known>();
  const begin = (socket: Socket, facts: PeerInfo): Known => {
    const cut = () => socket.destroy();
    const known: Known = {
      memory: new ConnectionMemory(memory, { address: () => addressOf(known.facts), cut }),
      facts,
    };
    readers.add(socket, cut);
    socket.once("close", () => {
      bySocket.delete(socket);
      known.memory[Symbol.dispose]();
    });
    bySocket.set(socket, known);
    return known;
  };
  return {
    memoryOf: (socket, facts) => {
      const known = bySocket.get(socket) ?? begin(socket, facts);
      known.facts = facts;
      return known.memory;
    },
  };
}
