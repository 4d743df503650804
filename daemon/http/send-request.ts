import { request as requestHttp, type Agent, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { UnresolvedNameError, watchLookup } from "./name-lookup.ts";

/** One HTTP request. */
export type HttpRequest = Readonly<{
  /** `http:` or `https:`, without credentials; see `parseHttpEndpoint`. */
  url: string;
  /** Unix socket to connect to in place of the URL's host and port. */
  socketPath?: string;
  method: "GET" | "HEAD" | "POST" | "DELETE";
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** Keeps connections for further requests; without one, each request opens its own, so that a server which takes no new connections is noticed. */
  agent?: Agent;
  /** Ends the request, and the reading of its answer, with an `AbortError`. */
  signal: AbortSignal;
}>;

/** Sends a request and resolves with the answer's head; the body is to be read or destroyed. Redirects are answers like any other. */
export type SendRequest = (request: HttpRequest) => Promise<IncomingMessage>;

/**
 * Sends a request by node:http. Not by `fetch`, whose first call loads 14 MiB into the process. Rejects with the system's error
 * (`code`, e.g. `ECONNREFUSED`), or an {@link UnresolvedNameError} where it ended while no name server had answered.
 */
export const sendRequest: SendRequest = ({ url, body, agent = false, ...options }) =>
  new Promise((resolve, reject) => {
    const send = url.startsWith("https:") ? requestHttps : requestHttp;
    const { lookup, pending } = watchLookup();
    // What fails after the head reaches the reader of the body.
    send(url, { ...options, agent, lookup }, resolve)
      .on("error", (error) => {
        const hostname = pending();
        reject(hostname === undefined ? error : new UnresolvedNameError(hostname, error));
      })
      .end(body);
  });

/** Returns the code of the error for which a server could not be reached; the error's message may hold what must not be shown. */
export function requestFailureCode(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" ? code : "no usable HTTP answer";
}
