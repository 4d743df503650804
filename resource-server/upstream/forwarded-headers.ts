import type { IncomingHttpHeaders } from "node:http";
import ipaddr from "ipaddr.js";
import { readHeader, requestTraceHeaders, type RequestTrace } from "#daemon/http/request-trace.ts";

export type RequestOrigin = Readonly<{
  clientAddress: string;
  protocol: "http" | "https";
  host: string;
}> &
  RequestTrace;

/** Headers not forwarded to the upstream. `Proxy` becomes `HTTP_PROXY` in a CGI program (CVE-2016-5385). */
const removedHeaders = new Set(
  [
    // Headers of the connection (RFC 9110, section 7.6.1), and headers set here.
    "accept-encoding connection content-length expect host keep-alive proxy proxy-authenticate proxy-authorization",
    "proxy-connection te traceparent tracestate trailer transfer-encoding upgrade via x-request-id",
    "payment-required payment-response payment-signature x-payment x-payment-response",
    // Headers for the client's address and host, which upstreams and their frameworks trust from proxies.
    "cf-connecting-ip cf-connecting-ipv6 client-ip fastly-client-ip forwarded true-client-ip x-client-ip x-cluster-client-ip",
    "fly-client-ip x-appengine-user-ip x-azure-clientip x-azure-socketip x-envoy-external-address x-forwarded x-host",
    "x-original-forwarded-for x-original-host x-real-ip x-vercel-forwarded-for",
    // Headers for the client's identity, for which a proxy vouches after checking a certificate or a login.
    "remote-user x-client-cert x-remote-user",
    // Headers that override the request.
    "x-http-method x-http-method-override x-method-override x-middleware-subrequest x-original-url x-rewrite-url",
    // Conditions and ranges, because the whole response is sold.
    "if-match if-modified-since if-none-match if-range if-unmodified-since range",
  ].flatMap((names) => names.split(" ")),
);

/** Headers in which proxies forward the origin, and a client's certificate. */
const withheldPrefix = /^(?:x-forwarded|(?:x-)?ssl-client)-/;

/** A request's headers by lowercase name, with repeated headers joined as by `node:http`. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export function buildForwardedHeaders(received: ReceivedHeaders, origin: RequestOrigin): Record<string, string> {
  const options = String(received["connection"] ?? "")
    .toLowerCase()
    .split(",");
  const ofConnection = new Set(options.map((option) => option.trim()));
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(received)) {
    // WSGI, CGI and PHP treat `X_Forwarded_For` like `X-Forwarded-For`.
    if (name.includes("_") || removedHeaders.has(name) || ofConnection.has(name) || withheldPrefix.test(name)) continue;
    if (value !== undefined) headers[name] = String(value);
  }
  const { "X-Request-Id": requestId = "", ...trace } = requestTraceHeaders(origin);
  return {
    ...headers,
    "accept-encoding": "identity",
    "x-forwarded-for": origin.clientAddress,
    "x-forwarded-host": origin.host,
    "x-forwarded-proto": origin.protocol,
    "x-request-id": requestId,
    ...trace,
  };
}

/** Upstream response headers passed to the client, also on a later connection: no cookies or details of the upstream's server. */
const letThrough =
  "cache-control content-disposition content-language content-type etag expires last-modified link location retry-after";

const headerBytesMax = 8_192;

/** Host requested by the client, and the upstream's host, which no response should reveal. */
export type ResponseHosts = Readonly<{ requestedHost: string; upstreamHost: string }>;

/** Omits headers over 8 KiB, and those with an internal host name, which no client can reach and which reveals the seller's network. */
export function buildSoldHeaders(
  received: IncomingHttpHeaders,
  hosts: ResponseHosts,
): readonly (readonly [string, string])[] {
  return letThrough.split(" ").flatMap((name) => {
    const value = readHeader(received, name);
    if (value === undefined || value.length > headerBytesMax) return [];
    return linkHeaders.has(name) && namesInternalHost(value, hosts) ? [] : [[name, value] as const];
  });
}

const linkHeaders = new Set(["link", "location"]);
/** Names that resolve only in private networks (RFC 6761, 6762, 8375, 9476, and Kubernetes'), and those without a dot. */
const internalName = /^[^.]*$|\.(?:local|localhost|internal|home\.arpa|lan|svc)\.?$/;

function namesInternalHost(value: string, { requestedHost, upstreamHost }: ResponseHosts): boolean {
  return [...value.matchAll(/(?:^|[:<"=])[/\\]{2}([^/\\?#<>"\s]*)/g)].some(([, authority = ""]) => {
    if (authority === requestedHost) return false;
    const name = URL.parse(`http://${authority}`)?.hostname ?? "";
    const address = name.replace(/^\[(.*)\]$/, "$1");
    if (name === upstreamHost) return true;
    return ipaddr.isValid(address) ? ipaddr.process(address).range() !== "unicast" : internalName.test(name);
  });
}
