import { request as requestHttp, type Agent, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { UnresolvedNameError, watchLookup } from "./name-lookup.ts";
import { readText } from "../bytes.ts";
import { parseJson } from "../json-rpc.ts";
import { parseHttpEndpoint } from "./endpoint.ts";

type HttpRequest = Readonly<{
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

/** A command's request to a running service, and its limits. */
type GetOptions = Readonly<{
  timeoutMs: number;
  responseBytesMax: number;
  headers?: Readonly<Record<string, string>>;
  /** Aborts `timeoutMs` after the first of several requests that share the timeout; by default each request has its own. */
  deadline?: AbortSignal;
}>;

/** Result of a request: a response with any status, or a brief reason why there is none. */
export type GetResult<Body> = Readonly<{ ok: true; status: number; body: Body } | { ok: false; why: string }>;

/** Fetches text over HTTP. Credentials in the URL become Basic authentication; redirects are not followed. Never throws. */
export async function getText(
  url: string,
  { timeoutMs, responseBytesMax, headers, deadline: signal = AbortSignal.timeout(timeoutMs) }: GetOptions,
): Promise<GetResult<string>> {
  try {
    const endpoint = parseHttpEndpoint(url);
    const sent = { ...headers, ...endpoint.headers };
    const answer = await sendRequest({ url: endpoint.url, method: "GET", headers: sent, signal });
    return { ok: true, status: answer.statusCode ?? 0, body: await readText(answer, responseBytesMax) };
  } catch (error) {
    return { ok: false, why: signal.aborted ? `no response within ${timeoutMs} ms` : requestFailureCode(error) };
  }
}

/** Fetches a JSON document, like {@link getText}; the body is undefined if it isn't JSON. */
export async function getJson(url: string, options: GetOptions): Promise<GetResult<unknown>> {
  const got = await getText(url, { ...options, headers: { Accept: "application/json", ...options.headers } });
  return got.ok ? { ...got, body: parseJson(got.body) } : got;
}
