import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { readHeader } from "#daemon/http/request-trace.ts";
import { BodyTooLargeError } from "#daemon/bytes.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { HttpClient, IncomingResponse, ResponseHead } from "../http-client.ts";
import {
  buildForwardedHeaders,
  buildSoldHeaders,
  type ReceivedHeaders,
  type RequestOrigin,
} from "./forwarded-headers.ts";
import type { Route } from "../routes/route.ts";
import type { SoldResponse } from "../claims/payment-claim.ts";
import { createResponseReservations, NoMemoryError } from "./response-reservation.ts";
import type { TokenIssuer } from "../token-issuer.ts";

/** Header by which an upstream reports what a request used (the SDK's `SETTLEMENT_OVERRIDES_HEADER`), JSON with `amount`. */
const usedAmountHeader = "settlement-overrides";

/** Request to forward once it is paid. */
export type PaidRequest = Readonly<{
  route: Route;
  /** Path with query, as sent by the client. */
  target: string;
  headers: ReceivedHeaders;
  body: Uint8Array<ArrayBuffer> | undefined;
  origin: RequestOrigin;
  /** Memory that buffers its response until the client has received it. */
  memory: Pick<HeldBytes, "tryAcquire" | "release">;
}>;

/**
 * Result of a forwarded request:
 * - `resource`: the purchased response (2xx), and what the upstream reports that it used (header `Settlement-Overrides`);
 * - `declined`: the upstream's own rejection (4xx), passed to the client unchanged and uncharged;
 * - `failed`: nothing to sell; the client is not charged;
 * - `busy`: no memory to buffer the response, before or after the request; the client is not charged.
 */
export type UpstreamResult = Readonly<
  | { kind: "resource"; response: SoldResponse; used?: string | undefined }
  | { kind: "declined"; response: SoldResponse }
  | { kind: "failed"; status: 502 | 503 | 504; message: string }
  | { kind: "busy" }
>;

/** Limits of one forwarded request. */
export type UpstreamOptions = Readonly<{ timeoutMs: number; responseLimitBytes: number }>;

/** Forwards paid requests. Never throws: errors are results. */
export type Upstream = (request: PaidRequest) => Promise<UpstreamResult>;

/** Creates the forwarder of paid requests. Does not follow redirects, because they would leave the configured URL. */
export function createUpstream(
  options: UpstreamOptions,
  { client, signal }: Readonly<{ client: HttpClient; signal: AbortSignal }>,
): Upstream {
  const rooms = createResponseReservations();
  return async (request) => {
    const { upstream } = request.route;
    if (upstream === undefined) return buildFailure(502, "the route has no upstream");
    const room = rooms.open(request);
    if (room === undefined) return { kind: "busy" };
    try {
      const response = await client({
        origin: upstream.origin,
        path: buildUpstreamPath(upstream, request.target),
        method: request.route.method,
        // Credentials in the configured URL are the seller's own and override the client's.
        headers: { ...buildForwardedHeaders(request.headers, request.origin), ...readCredentials(upstream) },
        body: request.body,
        timeoutMs: options.timeoutMs,
        limitBytes: options.responseLimitBytes,
        isWanted: (head) => explainUnsellable(head, request.route) === undefined,
        hold: room.hold,
      });
      room.trim();
      return judgeResponse(response, request);
    } catch (error) {
      if (error instanceof NoMemoryError) return { kind: "busy" };
      if (signal.aborted) return buildFailure(503, "the server is stopping");
      if (error instanceof Error && error.name === "TimeoutError")
        return buildFailure(504, `the upstream took longer than ${options.timeoutMs} ms`);
      if (error instanceof BodyTooLargeError)
        return buildFailure(502, `the upstream's response can't be sold: ${error.message}`);
      return buildFailure(502, "the upstream can't be reached");
    }
  };
}

function judgeResponse(response: IncomingResponse, { route, origin }: PaidRequest): UpstreamResult {
  const unsellable = explainUnsellable(response, route);
  if (unsellable !== undefined) return buildFailure(502, unsellable);
  const { status, body } = response;
  const hosts = { requestedHost: origin.host, upstreamHost: route.upstream?.hostname ?? "" };
  const headers = buildSoldHeaders(response.headers, hosts);
  if (!isSuccess(status)) return { kind: "declined", response: { status, headers, body } };
  const isTyped = route.mimeType === undefined || headers.some(([name]) => name === "content-type");
  const sold = isTyped ? headers : [...headers, ["content-type", route.mimeType] as const];
  return {
    kind: "resource",
    response: { status, headers: sold, body },
    used: readHeader(response.headers, usedAmountHeader),
  };
}

/** Returns why a response can't be passed to the client; undefined if it can. */
function explainUnsellable({ status, headers }: ResponseHead, { mimeType }: Route): string | undefined {
  if (!isSuccess(status) && !isDeclined(status)) return `the upstream returned HTTP ${status}`;
  const given = readHeader(headers, "content-type");
  if (!isSuccess(status) || mimeType === undefined || given === undefined) return undefined;
  if (readMediaType(given) === readMediaType(mimeType)) return undefined;
  return `the upstream returned ${readMediaType(given)}, but the route sells ${mimeType}`;
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

function buildFailure(status: 502 | 503 | 504, message: string): UpstreamResult {
  return { kind: "failed", status, message };
}

/** Creates the work of a paid request: issues a token if the route sells one, else forwards to the route's upstream. */
export function createSoldWork(upstream: Upstream, issuer: TokenIssuer | undefined) {
  return async (request: PaidRequest, payer: string): Promise<UpstreamResult> => {
    const { token } = request.route;
    if (token === undefined) return upstream(request);
    if (issuer === undefined) return { kind: "failed", status: 503, message: "no key to sign tokens with" };
    return { kind: "resource", response: await issuer.issue(payer, token) };
  };
}
