import { isIP } from "node:net";
import { z } from "zod";
import { readUrlHost } from "#daemon/http/address.ts";
import { findRenderedValue, type SettingsTree } from "./rendered-settings.ts";
import type { Edge } from "./service-spec.ts";

/** A forwarded route; the resource server's own schema validates the rest of it. */
const withUpstream = z.object({ upstream: z.url() });

/** A Service name with its namespace (Kubernetes, "DNS for Services and Pods"): `<name>.<namespace>.svc`, with or without the cluster domain. */
const serviceName = /^[^.]+\.(?<namespace>[^.]+)\.svc(\.|$)/;

/** Parses the namespace of a Service from its host name; `undefined` for any other host. */
export function parseServiceNamespace(host: string): string | undefined {
  return serviceName.exec(host)?.groups?.["namespace"];
}

/**
 * Lists the connections from routes to their upstreams: to the namespace in a Service name, to an IP address in the URL, or otherwise to
 * the internet. A name without a dot is one of the stack's own services, whose builders define the connection.
 */
export function listUpstreamEdges(routes: Readonly<Record<string, unknown>>): readonly Edge[] {
  return Object.values(routes).flatMap((route) => {
    const parsed = withUpstream.safeParse(route);
    return parsed.success ? listEdgesTo(new URL(parsed.data.upstream)) : [];
  });
}

function listEdgesTo(url: URL): readonly Edge[] {
  const edge = deriveEdge(url);
  if (edge.to !== "host" || edge.cidr !== undefined) return [edge];
  return url.hostname.includes(".") ? [{ to: "internet" }] : [];
}

const defaultPorts: Readonly<Record<string, number>> = {
  "https:": 443,
  "wss:": 443,
  "redis:": 6_379,
  "rediss:": 6_379,
  "postgres:": 5_432,
  "postgresql:": 5_432,
};

/** Returns the connection to a server: to the namespace in a Service name, to an IP address, or otherwise to the port on any host. */
export function deriveEdge({ protocol, hostname, port }: Pick<URL, "protocol" | "hostname" | "port">): Edge {
  const host = readUrlHost({ hostname });
  const namespace = parseServiceNamespace(host);
  if (namespace !== undefined) return { to: "namespace", namespace };
  const family = isIP(host);
  const cidr = family === 0 ? undefined : `${host}/${family === 4 ? 32 : 128}`;
  return { to: "host", port: port === "" ? (defaultPorts[protocol] ?? 80) : Number(port), cidr };
}

/** Settings, of any service, that contain URLs of servers that the service connects to. */
const connectedSettings = [
  ["gateway", "rateStore", "redisUrl"],
  ["gateway", "tracing", "otlpUrl"],
  ["gateway", "jwt", "jwksUrl"],
  ["lag", "references"],
  ["upgrade", "releasesUrl"],
  ["chain", "rpcUrl"],
  ["settlement", "rpcUrl"],
  ["facilitator", "url"],
  ["ledger", "url"],
] as const;

/** Lists the server connections in the settings that a stack passes to a service. Invalid URLs are rejected by the service's schema. */
export function listEdgesOfSettings(settings: SettingsTree): readonly Edge[] {
  return connectedSettings
    .flatMap((path) => findRenderedValue(settings, path))
    .flatMap((value) => (typeof value === "string" ? (URL.parse(value) ?? []) : []))
    .map(deriveEdge);
}
