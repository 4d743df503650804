import { z } from "zod";
import { readUrlHost, readUrlPort } from "#daemon/http/address.ts";

const upstreamsInFile = z.record(
  z.string(),
  z.object({ upstream: z.url() }).or(z.unknown().transform(() => undefined)),
);

/** Hosts under which a listener on loopback or on all addresses is reached from its own machine. */
const ownHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"]);

/** Lists the routes whose upstream is the server's own listener, which would answer every paid request with an offer, not the product. */
export function findOwnUpstreams(
  content: unknown,
  { hosts, port }: Readonly<{ hosts: readonly string[]; port: number }>,
): string[] {
  const isLocal = hosts.some((host) => ownHosts.has(host));
  return Object.entries(upstreamsInFile.safeParse(content).data ?? {}).flatMap(([key, route]) => {
    if (route === undefined) return [];
    const url = new URL(route.upstream);
    const host = readUrlHost(url);
    const isOwn = hosts.includes(host) || (isLocal && ownHosts.has(host));
    if (!isOwn || readUrlPort(url) !== port) return [];
    return [
      `${key}: upstream: found ${url.origin}, this server's own listener (setting listen.port); set the URL of the service to sell.`,
    ];
  });
}
