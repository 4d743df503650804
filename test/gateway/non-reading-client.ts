import { connect, type Socket } from "node:net";

/** A raw connection to a gateway from one of many addresses, from which nothing is read. */
export type DeafClient = Disposable &
  Readonly<{ socket: Socket; send: (text: string | Buffer) => void; isClosed: () => boolean; head: () => string }>;

/** Builds a JSON-RPC request as a proxy would send it for a client at this address. */
export function requestFrom(address: string, body: string): string {
  return `${buildHead(address)}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** Builds the head of such a request up to its length. */
export function buildHead(address: string): string {
  return `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Forwarded-For: ${address}\r\n`;
}

/** Connects and reads nothing until the first bytes are requested. */
export function connectDeaf(url: string, first: string): DeafClient {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const state = { isClosed: false, head: "" };
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    state.isClosed = true;
  });
  socket.pause();
  socket.write(first, "latin1");
  return {
    socket,
    send: (text) => void socket.write(text),
    isClosed: () => state.isClosed,
    head: () => {
      state.head += String(socket.read() ?? "");
      return state.head;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
