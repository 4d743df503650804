import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { readHeader } from "#daemon/http/request-trace.ts";
import { BodyTooLargeError } from "#daemon/bytes.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { hasRejectedCertificate, wasClosedEarly } from "#daemon/http/send-request.ts";
import {
  hasNeverConnected,
  type HttpClient,
  type IncomingResponse,
  type ResponseHead,
} from "#daemon/http/http-client.ts";
import {
  buildForwardedHeaders,
  buildSoldHeaders,
  type ReceivedHeaders,
  type RequestOrigin,
} from "./forwarded-headers.ts";
import type { Route } from "../routes/route.ts";
import type { SoldResponse } from "../claims/payment-claim.ts";
import type { TokenIssuer } from "./token-issuer.ts";

/** Header in which an upstream reports what a request used (the SDK's `SETTLEMENT_OVERRIDES_HEADER`): JSON with `amount`. */
const usedAmountHeader = "settlement-overrides";

export type PaidRequest = Readonly<{
  route: Route;
  target: string;
  headers: ReceivedHeaders;
  body: Uint8Array<ArrayBuffer> | undefined;
  origin: RequestOrigin;
  memory: Pick<HeldBytes, "tryAcquire" | "release">;
  payer: string;
}>;

/**
 * Result of the paid work, a forwarded request or a signed token:
 * - `resource`: the purchased response (2xx), and the usage that the upstream reports (header `Settlement-Overrides`);
 * - `declined`: the upstream's own rejection (4xx), passed to the client unchanged and uncharged;
 * - `failed`: nothing can be sold; the client is not charged. `isUnreachable`: the upstream accepted no connection;
 * - `busy`: no memory to buffer the response, before or after the request; the client is not charged.
 */
export type UpstreamResult = Readonly<
  | { kind: "resource"; response: SoldResponse; used?: string | undefined }
  | { kind: "declined"; response: SoldResponse }
  | { kind: "failed"; status: 502 | 503 | 504; message: string; isUnreachable?: boolean }
  | { kind: "busy" }
>;

/** No memory available to buffer a response. Nothing was charged for it. */
class OutOfMemoryError extends Error {
  override readonly name = "OutOfMemoryError";
  readonly code = "no_room";
}

/** Creates the forwarder of paid requests, and of those for a token to `issuer`; its errors are results. Does not follow redirects, because they would leave the configured URL. */
export function createUpstream(
  options: Readonly<{ timeoutMs: number; responseLimitBytes: number }>,
  { client, signal, issuer }: Readonly<{ client: HttpClient; signal: AbortSignal; issuer: TokenIssuer | undefined }>,
) {
  /** Size of each route's largest response so far, for which memory is reserved before its upstream is queried. */
  const largestBodyBytes = new WeakMap<Route, number>();
  return async (request: PaidRequest): Promise<UpstreamResult> => {
    const { route, memory } = request;
    const { upstream, token } = route;
    if (token !== undefined) {
      const response = await issuer?.issue(request.payer, token);
      return response ? { kind: "resource", response } : buildFailure(503, "no key to sign tokens with");
    }
    if (upstream === undefined) return buildFailure(502, "the route has no upstream");
    let heldBytes = largestBodyBytes.get(route) ?? 0;
    if (!memory.tryAcquire(heldBytes)) return { kind: "busy" };
    let length = 0;
    const hold = (bytes: number): void => {
      length += bytes;
      if (length <= heldBytes) return;
      largestBodyBytes.set(route, Math.max(length, largestBodyBytes.get(route) ?? 0));
      if (!memory.tryAcquire(length - heldBytes))
        throw new OutOfMemoryError("no memory left for the upstream's response");
      heldBytes = length;
    };
    try {
      const response = await client({
        origin: upstream.origin,
        path: buildUpstreamPath(upstream, request.target),
        method: route.method,
        // Credentials in the configured URL are the seller's own and override the client's.
        headers: { ...buildForwardedHeaders(request.headers, request.origin), ...readCredentials(upstream) },
        body: request.body,
        timeoutMs: options.timeoutMs,
        limitBytes: options.responseLimitBytes,
        isWanted: (head) => explainUnsellableResponse(head, route) === undefined,
        hold,
      });
      memory.release(heldBytes - length);
      return judgeResponse(response, request);
    } catch (error) {
      if (error instanceof OutOfMemoryError) return { kind: "busy" };
      if (signal.aborted) return buildFailure(503, "the server is stopping");
      if (error instanceof Error && error.name === "TimeoutError")
        return buildFailure(504, `the upstream took longer than ${options.timeoutMs} ms`);
      if (error instanceof BodyTooLargeError)
        return buildFailure(502, `the upstream's response can't be sold: ${error.message}`);
      return { ...buildFailure(502, explainFailedExchange(error)), isUnreachable: hasNeverConnected(error) };
    }
  };
}

/**
 * Result of a probe: `sells`: the response could be sold; `responds`: it couldn't, but a paid one may; `fails`: no response, or the
 * server's own error; `unreachable`: no connection was accepted.
 */
type UpstreamProbeResult = "sells" | "responds" | "fails" | "unreachable";

/** Creates the probe of failing upstreams: HEAD, which is safe (RFC 9110, 9.2.1), with the route's URL and its credentials. */
export function createUpstreamProbe({ timeoutMs }: Readonly<{ timeoutMs: number }>, client: HttpClient) {
  return async (route: Route): Promise<UpstreamProbeResult> => {
    const { upstream } = route;
    if (upstream === undefined) return "fails";
    const { origin } = upstream;
    const request = { origin, path: buildUpstreamPath(upstream, route.path), headers: readCredentials(upstream) };
    try {
      const head = await client({ ...request, method: "HEAD", timeoutMs, limitBytes: 0, isWanted: () => false });
      if (head.status >= 500) return "fails";
      const couldBeSold = route.method === "GET" && isSuccess(head.status);
      return couldBeSold && explainUnsellableResponse(head, route) === undefined ? "sells" : "responds";
    } catch (error) {
      return hasNeverConnected(error) ? "unreachable" : "fails";
    }
  };
}

function explainFailedExchange(error: unknown): string {
  if (wasClosedEarly(error)) return "the upstream closed the connection before its response was complete";
  if (hasRejectedCertificate(error)) return "the upstream's certificate is not accepted";
  const { name, code } = error as NodeJS.ErrnoException;
  // The codes of zlib, for a body that is not in its Content-Encoding, start with Z.
  const isInvalid = name === "HTTPParserError" || code?.startsWith("Z") === true;
  return isInvalid ? "the upstream's response is not valid HTTP" : "the upstream can't be reached";
}

function judgeResponse(response: IncomingResponse, { route, origin }: PaidRequest): UpstreamResult {
  const unsellableReason = explainUnsellableResponse(response, route);
  if (unsellableReason !== undefined) return buildFailure(502, unsellableReason);
  const { status, body } = response;
  const hosts = { requestedHost: origin.host, upstreamHost: route.upstream?.hostname ?? "" };
  const headers = buildSoldHeaders(response.headers, hosts);
  if (!isSuccess(status)) return { kind: "declined", response: { status, headers, body } };
  const isTyped = route.mimeType === undefined || headers.some(([name]) => name === "content-type");
  const soldHeaders = isTyped ? headers : [...headers, ["content-type", route.mimeType] as const];
  return {
    kind: "resource",
    response: { status, headers: soldHeaders, body },
    used: readHeader(response.headers, usedAmountHeader),
  };
}

/** Returns why a response can't be passed to the client; undefined if it can. */
function explainUnsellableResponse({ status, headers }: ResponseHead, { mimeType }: Route): string | undefined {
  // No range was requested (`forwarded-headers.ts`), so a part (206) is not what is sold.
  if ((!isSuccess(status) && !isDeclined(status)) || status === 206) return `the upstream returned HTTP ${status}`;
  const givenContentType = readHeader(headers, "content-type");
  if (!isSuccess(status) || mimeType === undefined || givenContentType === undefined) return undefined;
  if (readMediaType(givenContentType) === readMediaType(mimeType)) return undefined;
  return `the upstream returned ${readMediaType(givenContentType)}, but the route sells ${mimeType}`;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function isDeclined(status: number): boolean {
  return status >= 400 && status < 500 && status !== 402 && status !== 407;
}

function readCredentials({ href, username, password }: URL): Readonly<Record<string, string>> {
  if (username === "" && password === "") return {};
  const { Authorization: authorization = "" } = parseHttpEndpoint(href).headers;
  return { authorization };
}

function buildUpstreamPath({ href, pathname, search }: URL, target: string): string {
  const queryStart = target.indexOf("?");
  if (queryStart < 0) return `${pathname}${search}`;
  const url = new URL(href);
  const query = target.slice(queryStart + 1);
  url.search = search === "" ? query : `${search}&${query}`;
  return `${pathname}${url.search}`;
}

function readMediaType(contentType: string): string {
  return (contentType.split(";")[0] ?? "").trim().toLowerCase();
}

function buildFailure(status: 502 | 503 | 504, message: string) {
  return { kind: "failed", status, message } as const;
}
