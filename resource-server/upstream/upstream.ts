import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { BodyTooLargeError, type Body } from "#daemon/bytes.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { runWithin, type Fetch, type FetchResponse } from "../http-client.ts";
import {
  buildForwardedHeaders,
  buildSoldHeaders,
  type ReceivedHeaders,
  type RequestOrigin,
} from "./forwarded-headers.ts";
import type { Route } from "../routes/route.ts";
import type { SoldResponse } from "../claims/payment-claim.ts";
import { createResponseRooms, NoRoomError } from "./response-room.ts";
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
  { fetch, signal }: Readonly<{ fetch: Fetch; signal: AbortSignal }>,
): Upstream {
  const rooms = createResponseRooms();
  return async (request) => {
    const { upstream } = request.route;
    if (upstream === undefined) return buildFailure(502, "the route has no upstream");
    const room = rooms.open(request);
    if (room === undefined) return { kind: "busy" };
    const { url, headers: credentials } = parseHttpEndpoint(buildUpstreamUrl(upstream, request.target).href);
    const headers = buildForwardedHeaders(request.headers, request.origin);
    // Credentials in the configured URL are the seller's own and override the client's.
    for (const [name, value] of Object.entries(credentials)) headers[name.toLowerCase()] = value;
    try {
      return await runWithin({ signal, timeoutMs: options.timeoutMs }, async (ended) => {
        const response = await fetch(url, {
          method: request.route.method,
          headers,
          redirect: "manual",
          signal: ended,
          ...(request.body === undefined ? {} : { body: request.body }),
        });
        return judgeResponse(response, request, (body) => room.read(body, options.responseLimitBytes));
      });
    } catch (error) {
      if (error instanceof NoRoomError) return { kind: "busy" };
      if (signal.aborted) return buildFailure(503, "the server is stopping");
      if (error instanceof Error && error.name === "TimeoutError")
        return buildFailure(504, `the upstream took longer than ${options.timeoutMs} ms`);
      if (error instanceof BodyTooLargeError)
        return buildFailure(502, `the upstream's response can't be sold: ${error.message}`);
      return buildFailure(502, "the upstream can't be reached");
    }
  };
}

async function judgeResponse(
  response: FetchResponse,
  { route, origin }: PaidRequest,
  read: (body: Body) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<UpstreamResult> {
  const { status } = response;
  const sellable = status >= 200 && status <= 299;
  const declined = status >= 400 && status < 500 && status !== 402 && status !== 407;
  if (!sellable && !declined) {
    await response.body?.cancel();
    return buildFailure(502, `the upstream returned HTTP ${status}`);
  }
  const hosts = { requestedHost: origin.host, upstreamHost: route.upstream?.hostname ?? "" };
  const headers = [...buildSoldHeaders(response.headers, hosts)];
  if (sellable && route.mimeType !== undefined) {
    const given = headers.find(([name]) => name === "content-type")?.[1];
    if (given !== undefined && readMediaType(given) !== readMediaType(route.mimeType)) {
      await response.body?.cancel();
      return buildFailure(502, `the upstream returned ${readMediaType(given)}, but the route sells ${route.mimeType}`);
    }
    if (given === undefined) headers.push(["content-type", route.mimeType]);
  }
  const whole: SoldResponse = { status, headers, body: await read(response.body) };
  if (!sellable) return { kind: "declined", response: whole };
  return { kind: "resource", response: whole, used: response.headers.get(usedAmountHeader) ?? undefined };
}

function buildUpstreamUrl(upstream: URL, target: string): URL {
  const url = new URL(upstream);
  const queryStart = target.indexOf("?");
  if (queryStart < 0) return url;
  const query = target.slice(queryStart + 1);
  url.search = url.search === "" ? query : `${url.search}&${query}`;
  return url;
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
