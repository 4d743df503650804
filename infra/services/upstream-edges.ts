import { isIP } from "node:net";
import { z } from "zod";
import type { Edge } from "./service-spec.ts";

/** A forwarded route; the resource server's own schema judges the rest of it. */
const withUpstream = z.object({ upstream: z.url() });

/** A Service's name with its namespace (Kubernetes, "DNS for Services and Pods"): `<name>.<namespace>.svc`, with or without the cluster's domain. */
const serviceName = /^[^.]+\.(?<namespace>[^.]+)\.svc(\.|$)/;

/** Parses the namespace of a Service from its host name; `undefined` for another host. */
export function parseServiceNamespace(host: string): string | undefined {
  return serviceName.exec(host)?.groups?.["namespace"];
}

/**
 * Lists the connections from routes to their upstreams: to the namespace that a Service's name contains, to an address that stands in the URL, else to
 * the internet. A name without a dot is one of the stack's own services, whose edges their builders know.
 */
export function listUpstreamEdges(routes: Readonly<Record<string, unknown>>): readonly Edge[] {
  return Object.values(routes).flatMap((route) => {
    const parsed = withUpstream.safeParse(route);
    return parsed.success ? listEdgesTo(new URL(parsed.data.upstream)) : [];
  });
}

function listEdgesTo({ protocol, hostname, port }: URL): readonly Edge[] {
  const host = hostname.replace(/^\[|\]$/g, "");
  const family = isIP(host);
  if (family !== 0) {
    const number = port === "" ? ({ "https:": 443 }[protocol] ?? 80) : Number(port);
    return [{ to: "host", port: number, cidr: `${host}/${family === 4 ? 32 : 128}` }];
  }
  const namespace = parseServiceNamespace(host);
  if (namespace !== undefined) return [{ to: "namespace", namespace }];
  return host.includes(".") ? [{ to: "internet" }] : [];
}
