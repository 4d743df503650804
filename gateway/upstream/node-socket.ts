import { connect as connectTcp, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { buildServerName, readUrlPort } from "#daemon/http/address.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { lookupName } from "#daemon/http/name-lookup.ts";
import { TextsByLength } from "../wire/message-head.ts";

/** HTTP address of the node, and the constant parts of every request to it: its head, as binary strings, up to the end of the Content-Length line. */
export type NodeAddress = Readonly<{ secure: boolean; host: string; port: number; requestStarts: TextsByLength }>;

export function parseNodeAddress(httpUrl: string): NodeAddress {
  const url = new URL(httpUrl);
  const { Authorization: credentials } = parseHttpEndpoint(httpUrl).headers;
  const authorization = credentials === undefined ? "" : `Authorization: ${credentials}\r\n`;
  const start = `POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n${authorization}Content-Type: application/json\r\nContent-Length: `;
  return {
    secure: url.protocol === "https:",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: readUrlPort(url),
    requestStarts: new TextsByLength((lengthBytes) => `${start}${lengthBytes}\r\n`),
  };
}

const readBytes = 65_536;

export type NodeSocketEvents = Readonly<{
  connected: () => void;
  /** Called with received bytes. The next read overwrites them unless this callback returns true, which transfers ownership to the receiver. */
  received: (bytes: Buffer) => boolean;
  closed: () => void;
}>;

export function openNodeSocket({ secure, host, port }: NodeAddress, events: NodeSocketEvents): Socket {
  const socket = secure
    ? connectTls({ host, port, ...buildServerName(host), lookup: lookupName }).on("data", events.received)
    : connectTcp({ host, port, lookup: lookupName, onread: readInto(events) });
  socket.setNoDelay(true);
  socket.on(secure ? "secureConnect" : "connect", events.connected);
  socket.on("end", () => socket.destroy());
  // Every error is followed by a "close" event.
  socket.on("error", () => socket.destroy());
  socket.on("close", events.closed);
  return socket;
}

/** Creates one buffer that is reused for all reads, which avoids a buffer per short response and the stream's queue. */
function readInto({ received }: NodeSocketEvents): OnReadOpts {
  let buffer = Buffer.allocUnsafeSlow(readBytes);
  let isKept = false;
  return {
    buffer: () => {
      if (isKept) buffer = Buffer.allocUnsafeSlow(readBytes);
      isKept = false;
      return buffer;
    },
    callback: (length) => {
      isKept = received(buffer.subarray(0, length));
      return true;
    },
  };
}
