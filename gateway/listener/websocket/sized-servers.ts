import { WebSocketServer } from "ws";

/** Most sizes of message for which a WebSocket server is kept; sizes come from settings. */
const keptServers = 64;

/** Most frames of one message; browsers and libraries send one, or one for each 16 KiB and more. */
const maxFragments = 1_024;

/** WebSocket servers by the largest message that their clients may send. */
export type SizedServers = Disposable & Readonly<{ serverFor: (messageBytes: number) => WebSocketServer }>;

/** Makes servers as sizes are asked for. Messages are never compressed, so none can grow when it is read; pings are the session's to answer. */
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
        maxFragments,
        autoPong: false,
      });
      servers.set(messageBytes, server);
      return server;
    },
    [Symbol.dispose]: () => {
      for (const server of servers.values()) server.close();
    },
  };
}
