import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Agent, request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** Caller: the address reported by a proxy, the local address it connects from, and its other headers. */
export type Asker = Readonly<{
  address?: string;
  localAddress?: string;
  headers?: Readonly<Record<string, string>>;
  /** Whether to use a new connection, because a keep-alive one may be closed while this process is busy. */
  isAlone?: boolean;
}>;

const agent = new Agent({ keepAlive: true });

export async function ask(
  url: string,
  body: string | Buffer,
  { address, localAddress, headers, isAlone = false }: Asker = {},
) {
  const made = request(url, {
    method: "POST",
    agent: isAlone ? false : agent,
    ...(localAddress === undefined ? {} : { localAddress }),
    headers: {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
      ...(address === undefined ? {} : { "X-Forwarded-For": address }),
      ...headers,
    },
  });
  made.end(body);
  const [response] = (await once(made, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
}

export function readErrorCode(response: string): number | undefined {
  return (JSON.parse(response) as { error?: { code: number } }).error?.code;
}

export type RawClient = Disposable &
  Readonly<{
    socket: Socket;
    /** All received data, up to 64 KiB. */
    received: () => string;
    receivedBytes: () => number;
    isClosed: () => boolean;
  }>;

const keptBytes = 65_536;

export function openRaw(
  url: string,
  bytes: string | Buffer,
  options: Readonly<{ localAddress?: string; allowHalfOpen?: boolean }> = {},
): RawClient {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  const state = { received: "", bytes: 0, isClosed: false };
  socket.on("data", (part: Buffer) => {
    state.bytes += part.length;
    if (state.received.length < keptBytes) state.received += part.toString("latin1");
  });
  // The gateway half-closes rejected connections.
  socket.on("end", () => (state.isClosed = true));
  socket.on("close", () => (state.isClosed = true));
  socket.on("error", () => socket.destroy());
  if (bytes.length > 0) socket.write(bytes);
  return {
    socket,
    received: () => state.received,
    isClosed: () => state.isClosed,
    receivedBytes: () => state.bytes,
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

export function buildRequest(body: string, { address, headers = {} }: Pick<Asker, "address" | "headers"> = {}): string {
  const own = Object.entries({ ...(address === undefined ? {} : { "X-Forwarded-For": address }), ...headers });
  const lines = own.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${lines}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export const halfRequest =
  "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";

export function openMany(
  count: number,
  open: (at: number) => RawClient,
): Disposable & Readonly<{ clients: readonly RawClient[] }> {
  const clients = Array.from({ length: count }, (_, at) => open(at));
  return {
    clients,
    [Symbol.dispose]: () => {
      for (const client of clients) client[Symbol.dispose]();
    },
  };
}
