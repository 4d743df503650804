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
    // Headers for the client's address and the request's origin, which upstreams and their frameworks trust from proxies.
    "client-ip fastly-client-ip fly-client-ip forwarded front-end-https proxy-client-ip true-client-ip wl-proxy-client-ip",
    "x-client-ip x-cluster-client-ip x-forwarded x-host x-nf-client-connection-ip x-originating-ip x-proxyuser-ip x-real-ip",
    "x-scheme x-script-name x-url-scheme x-vercel-forwarded-for",
    // A client's certificate (RFC 9440) and identity, for which a proxy vouches after checking them.
    "client-cert client-cert-chain x-apigateway-api-userinfo x-arr-clientcert x-client-cert x-endpoint-api-userinfo",
    // Headers that override the request.
    "x-http-method x-http-method-override x-method-override x-middleware-subrequest x-rewrite-url",
    // Conditions and ranges, because the whole response is sold.
    "if-match if-modified-since if-none-match if-range if-unmodified-since range",
  ].flatMap((names) => names.split(" ")),
);

/** Headers in which proxies forward the origin, a client's certificate, and the identity that they checked. */
const withheldPrefix = new RegExp(
  "^(?:cf|cloudfront|remote|tailscale|(?:x-)?ssl-client|x-(?:amzn-(?:oidc|mtls)|appengine|auth-request|authenticated|azure|envoy|forwarded|" +
    "goog-authenticated|goog-iap|ms-client|original|remote|webauth))-",
);

/** Other names become the same variable in CGI, WSGI and PHP: `X_Forwarded_For` everywhere, `X.Forwarded.For` in lighttpd and old Apache. */
const plainName = /^[a-z0-9-]+$/;

/** A request's headers by lowercase name, with repeated headers joined as by `node:http`. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export function buildForwardedHeaders(received: ReceivedHeaders, origin: RequestOrigin): Record<string, string> {
  const options = String(received["connection"] ?? "")
    .toLowerCase()
    .split(",");
  const ofConnection = new Set(options.map((option) => option.trim()));
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(received)) {
    if (!plainName.test(name) || removedHeaders.has(name) || ofConnection.has(name) || withheldPrefix.test(name))
      continue;
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
const internalName = /^[^.]*$|\.(?:local|localhost|internal|home\.arpa|corp|home|intranet|lan|private|svc)\.?$/;
/** The authority of each URL in a header's value. URL parsers accept any number of slashes after `http:`, even none. */
const authorities = /(?:(?:^|[:<"=])[/\\]{2}|(?:^|[<"=])https?:[/\\]*)([^/\\?#<>"\s]*)/gi;

function namesInternalHost(value: string, { requestedHost, upstreamHost }: ResponseHosts): boolean {
  return [...value.matchAll(authorities)].some(([, authority = ""]) => {
    if (authority === requestedHost) return false;
    const name = URL.parse(`http://${authority}`)?.hostname ?? "";
    const address = name.replace(/^\[(.*)\]$/, "$1");
    if (name === upstreamHost) return true;
    return ipaddr.isValid(address) ? ipaddr.process(address).range() !== "unicast" : internalName.test(name);
  });
}
