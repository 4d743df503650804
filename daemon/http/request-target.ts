import type { IncomingMessage } from "node:http";
import { formatAuthority } from "./address.ts";

const absoluteTarget = /^https?:\/\/([^/?#]*)([^]*)$/i;

/**
 * Replaces an absolute target by its path, byte for byte, and the Host header by the target's host, which counts in its place (RFC 9112, section
 * 3.2.2). A request of HTTP/1.0 may have no Host header, as checks of HAProxy have none: then it is for the address that its
 * client has connected to.
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

/** Converts a socket's address to the form that it has in a URL: IPv4 also where it is mapped into IPv6, and IPv6 without its zone. */
function toUrlAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

/** Sets the Host header where it is read: among the headers by their names, and among those that came. */
function setHost({ headers, rawHeaders }: IncomingMessage, host: string): void {
  headers.host = host;
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  if (at === -1) rawHeaders.push("Host", host);
  else rawHeaders[at + 1] = host;
}
