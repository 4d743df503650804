import { request as requestHttp, type Agent, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { UnresolvedNameError, watchLookup } from "./name-lookup.ts";

export type HttpRequest = Readonly<{
  /** `http:` or `https:`, without credentials; see `parseHttpEndpoint`. */
  url: string;
  /** Unix socket to connect to instead of the URL's host and port. */
  socketPath?: string;
  method: "GET" | "HEAD" | "POST" | "DELETE";
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** Reuses connections. Without an agent, each request opens its own connection, so that a server that accepts no new connections is detected. */
  agent?: Agent;
  /** Aborts the request, and the reading of its response, with an `AbortError`. */
  signal: AbortSignal;
}>;

/** Sends a request and resolves with the response's headers; the caller must read or destroy the body. Redirects are not followed. */
export type SendRequest = (request: HttpRequest) => Promise<IncomingMessage>;

/**
 * Sends a request via node:http rather than `fetch`, whose first call loads 14 MiB. Rejects with the system's error (`code`, e.g.
 * `ECONNREFUSED`), or with an {@link UnresolvedNameError} if the request ended before a name server responded.
 */
export const sendRequest: SendRequest = ({ url, body, agent = false, ...options }) =>
  new Promise((resolve, reject) => {
    const send = url.startsWith("https:") ? requestHttps : requestHttp;
    const { lookup, pending } = watchLookup();
    // Later failures reach the reader of the body.
    send(url, { ...options, agent, lookup }, resolve)
      .on("error", (error) => {
        const hostname = pending();
        reject(hostname === undefined ? error : new UnresolvedNameError(hostname, error));
      })
      .end(body);
  });

/** Returns the error code of a failed connection; the error's message may contain secrets. */
export function requestFailureCode(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" ? code : "no valid HTTP response";
}

const closedCodes: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "HPE_INVALID_EOF_STATE",
  "UND_ERR_SOCKET",
]);

/** Returns whether a connection was accepted, but closed before the response was complete; also for errors of undici. */
export function wasClosedEarly(error: unknown): boolean {
  return error instanceof Error && "code" in error && closedCodes.has(error.code);
}

const certificateCodes = /^(CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)_)/;

/** Returns whether a server's certificate was rejected: it is expired, not valid yet, of another host, or its issuer is not trusted (tls, "X509 certificate error codes"). */
export function hasRejectedCertificate(error: unknown): boolean {
  return error instanceof Error && "code" in error && certificateCodes.test(String(error.code));
}
