import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Address } from "viem";

/** Where the embedded stack keeps what it knows: all of it under one folder. */
export type StateDirectory = Readonly<{
  root: string;
  node: string;
  keys: string;
  logs: string;
  sidecar: string;
  facilitatorLedger: string;
  claimsLedger: string;
  pushedMetrics: string;
  prometheus: string;
  routes: string;
}>;

/** Names the places under `root`; makes nothing. */
export function stateDirectory(root: string): StateDirectory {
  const at = resolve(root);
  return {
    root: at,
    node: join(at, "node"),
    keys: join(at, "keys"),
    logs: join(at, "log"),
    sidecar: join(at, "sidecar"),
    facilitatorLedger: join(at, "facilitator.sqlite"),
    claimsLedger: join(at, "resource-server.sqlite"),
    pushedMetrics: join(at, "pushgateway.data"),
    prometheus: join(at, "prometheus"),
    routes: join(at, "routes.json5"),
  };
}

/** Creates the folders that the stack's processes write to. */
export async function createStateDirectory(directory: StateDirectory): Promise<void> {
  await mkdir(directory.logs, { recursive: true, mode: 0o700 });
  await mkdir(directory.keys, { recursive: true, mode: 0o700 });
}

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
