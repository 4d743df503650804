import type { Address } from "viem";

/** The routes file of the embedded stack: `GET /data` for one cent, from the sample upstream. */
export function routesFile(chainId: number, payee: Address, upstreamUrl: string): string {
  const routes = {
    "GET /data": {
      accepts: { scheme: "exact", price: "0.01", network: `eip155:${chainId}`, payTo: payee },
      description: "A sample document",
      mimeType: "application/json",
      upstream: `${upstreamUrl}/data`,
    },
  };
  return [
    "// The routes that are sold. The embedded stack writes this file at each start; give your own with",
    "// GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH.",
    JSON.stringify(routes, null, 2),
    "",
  ].join("\n");
}
