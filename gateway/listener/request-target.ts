import type { IncomingMessage } from "node:http";

/** What a request is for: a path without its query, and the host that the client means, with or without a port. */
export type RequestTarget = Readonly<{ path: string; host: string | undefined }>;

/**
 * Reads a request's target in origin-form or absolute-form; the latter's authority counts instead of Host (RFC 9112, section 3.2).
 * Undefined when the request has more than one Host header, which is to be refused: two readers could take different ones.
 */
export function readTarget({ url = "", headers, rawHeaders }: IncomingMessage): RequestTarget | undefined {
  if (rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length > 1) return undefined;
  const absolute = /^https?:\/\//i.test(url) ? URL.parse(url) : null;
  if (absolute !== null) return { path: absolute.pathname, host: absolute.host };
  return { path: url.split("?", 1)[0] ?? "", host: headers.host };
}
