import { isIPv4, isIPv6, type Socket } from "node:net";
import type { Server } from "node:http";
import ipaddr from "ipaddr.js";
import { pushBackBytes, prependHandler, divertReads, type ServeConnection } from "../raw-connections.ts";

/**
 * Result of parsing a proxy connection's first bytes: an incomplete PROXY protocol header, no such header, or a whole one that ends at
 * `endsAt`. `source` is the client's address; absent if the proxy connects on its own behalf or doesn't know (LOCAL, UNKNOWN).
 */
export type ProxyHeaderReading =
  | Readonly<{ kind: "partial" }>
  | Readonly<{ kind: "malformed" }>
  | Readonly<{ kind: "whole"; endsAt: number; source: string | undefined }>;

/** Max length of a version 1 line, including its terminator (PROXY protocol, section 2.1). */
const lineBytes = 107;
/** Signature of version 2, and the number of bytes before its addresses (section 2.2). */
const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const fixedBytes = 16;
/** Max size of a version 2 header: addresses, TLS information and the proxy's own names. */
export const proxyHeaderBytes = 4_096;

const partial = { kind: "partial" } as const;
const malformedHeader = { kind: "malformed" } as const;

const lineStart = Buffer.from("PROXY ", "latin1");
const portText = /^(?:0|[1-9]\d{0,4})$/;

/**
 * Parses the header that a proxy sends before a client's bytes: PROXY protocol, versions 1 and 2
 * (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt). Strict, because the result decides which client is limited.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeaderReading {
  if (hasSameStart(bytes, signature)) return bytes.length < fixedBytes ? partial : readVersion2(bytes);
  if (hasSameStart(bytes, lineStart)) return readVersion1(bytes);
  return malformedHeader;
}

/** Checks whether `bytes` and `start` agree up to the shorter length. */
function hasSameStart(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

function readVersion1(bytes: Buffer): ProxyHeaderReading {
  const end = bytes.subarray(0, lineBytes).indexOf("\r\n", "latin1");
  if (end === -1) return bytes.length < lineBytes ? partial : malformedHeader;
  const endsAt = end + 2;
  const line = bytes.toString("latin1", 0, end);
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { kind: "whole", endsAt, source: undefined };
  const [, family, source = "", destination = "", sourcePort = "", destinationPort = "", ...more] = line.split(" ");
  const isOfFamily = family === "TCP4" ? isIPv4 : family === "TCP6" ? isIPv6 : () => false;
  const isWhole =
    more.length === 0 &&
    [source, destination].every(isOfFamily) &&
    [sourcePort, destinationPort].every((port) => portText.test(port) && Number(port) <= 65_535);
  return isWhole ? { kind: "whole", endsAt, source } : malformedHeader;
}

/** Families and transports by their byte, with the lengths of a source address and of all addresses; others have no address. */
const addressedFamilies: ReadonlyMap<number, Readonly<{ source: number; all: number }>> = new Map([
  [0x11, { source: 4, all: 12 }],
  [0x21, { source: 16, all: 36 }],
]);
const unaddressedFamilies: ReadonlySet<number> = new Set([0x00, 0x12, 0x22, 0x31, 0x32]);

function readVersion2(bytes: Buffer): ProxyHeaderReading {
  const command = bytes[12];
  const family = bytes[13] ?? 0;
  const length = bytes.readUInt16BE(14);
  const endsAt = fixedBytes + length;
  const isLocal = command === 0x20;
  const sizes = addressedFamilies.get(family);
  if (!isLocal && command !== 0x21) return malformedHeader;
  if (sizes === undefined && !unaddressedFamilies.has(family)) return malformedHeader;
  if (endsAt > proxyHeaderBytes || (!isLocal && sizes !== undefined && length < sizes.all)) return malformedHeader;
  if (bytes.length < endsAt) return partial;
  if (isLocal || sizes === undefined) return { kind: "whole", endsAt, source: undefined };
  const source = ipaddr.fromByteArray([...bytes.subarray(fixedBytes, fixedBytes + sizes.source)]).toString();
  return { kind: "whole", endsAt, source };
}

/** Time limit for a proxy to send the whole header. */
const timeoutMs = 5_000;

/**
 * Installs the PROXY protocol before a server's other connection handlers: a connection from a trusted proxy starts with a header, and the
 * connection's `remoteAddress` is set to the client's address from that header. If the header is not complete in time, the connection is
 * closed without a response, because its client is unknown. Other connections are served unchanged; a header on them is an invalid HTTP
 * request. Call it before the server listens, after installing the handlers that need the client's address.
 */
export function takeProxyHeaders(server: Server, isTrusted: (remoteAddress: string) => boolean): void {
  prependHandler(server, (behind) => (socket) => {
    if (isTrusted(socket.remoteAddress ?? "")) waitForHeader(socket, behind);
    else behind(socket);
  });
}

function waitForHeader(socket: Socket, behind: ServeConnection): void {
  let read: Buffer = Buffer.alloc(0);
  const close = () => socket.destroy();
  const timer = setTimeout(close, timeoutMs);
  socket.on("error", close);
  socket.on("end", close);
  const ended = () => clearTimeout(timer);
  socket.on("close", ended);
  const reads = divertReads(socket, (bytes) => {
    read = Buffer.concat([read, bytes]);
    const header = readProxyHeader(read);
    if (header.kind === "malformed") close();
    if (header.kind !== "whole") return !socket.destroyed;
    clearTimeout(timer);
    reads.release();
    socket.off("error", close);
    socket.off("end", close);
    socket.off("close", ended);
    if (header.source !== undefined) Object.defineProperty(socket, "remoteAddress", { value: header.source });
    behind(socket);
    // Done only now, because the fast path gets only data read from now on, not data already read by the stream.
    if (read.length > header.endsAt) pushBackBytes(socket, read.subarray(header.endsAt));
    return true;
  });
}
