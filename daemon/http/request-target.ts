import type { IncomingMessage } from "node:http";
import { formatAuthority } from "./address.ts";

const absoluteTarget = /^https?:\/\/([^/?#]*)([^]*)$/i;

/**
 * Replaces an absolute target with its path, byte for byte, and the Host header with the target's host, which takes precedence (RFC 9112,
 * section 3.2.2). An HTTP/1.0 request, such as one of HAProxy's checks, may lack a Host header; the host is then the address that the
 * client connected to.
 */
export function replaceTarget(request: IncomingMessage): void {
  const { headers, socket, url = "" } = request;
  const [absolute, host = "", rest = ""] = absoluteTarget.exec(url) ?? [];
  if (absolute !== undefined) {
    setHost(request, host);
    request.url = rest.startsWith("/") ? rest : `/${rest}`;
  } else if (headers.host === undefined && socket.localAddress !== undefined && socket.localPort !== undefined) {
    setHost(request, formatAuthority(toUrlAddress(socket.localAddress), socket.localPort));
  }
}

/** Target of a request: a path without its query, and the intended host, with or without a port. */
export type RequestTarget = Readonly<{ path: string; host: string | undefined }>;

/** Reads a request's target; undefined if the request has several Host headers and must be rejected. */
export function readTarget(request: IncomingMessage): RequestTarget | undefined {
  if (!hasOneHost(request)) return undefined;
  const { url = "", headers } = request;
  const absolute = absoluteTarget.test(url) ? URL.parse(url) : null;
  if (absolute !== null) return { path: absolute.pathname, host: absolute.host };
  return { path: url.split("?", 1)[0] ?? "", host: headers.host };
}

/** Whether there is at most one Host header: given several, programs might pick different ones (RFC 9112, section 3.2). */
export function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === "host") hosts += 1;
  }
  return hosts < 2;
}

/** Converts a socket's address to its URL form: IPv4-mapped IPv6 becomes IPv4, and IPv6 loses its zone. */
function toUrlAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

function setHost({ headers, rawHeaders }: IncomingMessage, host: string): void {
  headers.host = host;
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  if (at === -1) rawHeaders.push("Host", host);
  else rawHeaders[at + 1] = host;
}
