import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

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
    routes: join(at, "routes.json5"),
  };
}

/** Creates the folders that the stack's processes write to. */
export async function createStateDirectory(directory: StateDirectory): Promise<void> {
  await mkdir(directory.logs, { recursive: true, mode: 0o700 });
  await mkdir(directory.keys, { recursive: true, mode: 0o700 });
}
