import { WebSocketServer } from "ws";

/** Most sizes of message for which a WebSocket server is kept; sizes come from settings. */
const keptServers = 64;

/** WebSocket servers by the largest message that their clients may send. */
export type SizedServers = Disposable & Readonly<{ serverFor: (messageBytes: number) => WebSocketServer }>;

/** Makes servers as sizes are asked for. Messages are never compressed, so none can grow when it is read. */
export function sizedServers(): SizedServers {
  const servers = new Map<number, WebSocketServer>();
  return {
    serverFor: (messageBytes) => {
      const kept = servers.get(messageBytes);
      if (kept !== undefined) return kept;
      if (servers.size >= keptServers) servers.clear();
      const server = new WebSocketServer({
        noServer: true,
        clientTracking: false,
        perMessageDeflate: false,
        maxPayload: messageBytes,
      });
      servers.set(messageBytes, server);
      return server;
    },
    [Symbol.dispose]: () => {
      for (const server of servers.values()) server.close();
    },
  };
}
