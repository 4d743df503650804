import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import type { Address } from "viem";
import { StartupError } from "#daemon/process/startup-error.ts";
import { createDirectory } from "#daemon/files/create-directory.ts";
import { createProcessLock, type LockHolder } from "#daemon/files/process-lock.ts";

export type StateDirectory = Readonly<{
  root: string;
  node: string;
  keys: string;
  signerKey: string;
  clientKey: string;
  logs: string;
  sidecar: string;
  facilitatorLedger: string;
  claimsLedger: string;
  pushedMetrics: string;
  prometheus: string;
  routes: string;
}>;

/** Locates the files under `root`; creates nothing. */
export function locateStateDirectory(root: string): StateDirectory {
  const at = resolve(root);
  return {
    root: at,
    node: join(at, "node"),
    keys: join(at, "keys"),
    signerKey: join(at, "keys/signer"),
    clientKey: join(at, "keys/client"),
    logs: join(at, "log"),
    sidecar: join(at, "sidecar"),
    facilitatorLedger: join(at, "facilitator.sqlite"),
    claimsLedger: join(at, "resource-server.sqlite"),
    pushedMetrics: join(at, "pushgateway.data"),
    prometheus: join(at, "prometheus"),
    routes: join(at, "routes.json5"),
  };
}

export function createStateDirectory({ logs, keys }: StateDirectory): void {
  createDirectory(logs);
  createDirectory(keys);
}

type RoutesTerms = Readonly<{ chainId: number; payee: Address }>;

/** Renders the embedded stack's routes file: `GET /data` and `GET /api/info`, priced at one cent each and served by the sample upstream. */
export function renderRoutesFile({ chainId, payee }: RoutesTerms, upstreamUrl: string): string {
  const route = (path: string, description: string) => ({
    accepts: { scheme: "exact", price: "0.01", network: `eip155:${chainId}`, payTo: payee },
    description,
    mimeType: "application/json",
    upstream: `${upstreamUrl}${path}`,
  });
  const routes = {
    "GET /data": route("/data", "A sample document"),
    "GET /api/info": route("/api/info", "Contents of the sample upstream"),
  };
  return [
    "// The routes for sale. The embedded stack writes this file at each start; use your own with",
    "// GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH.",
    JSON.stringify(routes, null, 2),
    "",
  ].join("\n");
}

const lockName = "stack.lock";

/**
 * Locks a state directory for this process until disposal. If the process is killed, the kernel releases the lock. The lock file also marks
 * the directory as a stack's: `fresh` empties no other directory. If nothing else was written, disposal removes what this created.
 *
 * @throws {StartupError} when another stack uses the directory, or `fresh` would empty a directory that no stack created.
 */
export async function lockStateDirectory({ root }: StateDirectory, fresh: boolean): Promise<Disposable> {
  const path = join(root, lockName);
  if (fresh && existsSync(root) && !existsSync(path) && readdirSync(root).length > 0) {
    throw new StartupError(
      `${root} was not created by a stack, so --fresh does not delete it; specify another --state-dir.`,
    );
  }
  const [isNewDirectory, isNewLock] = [!existsSync(root), !existsSync(path)];
  createDirectory(root);
  const lock = createProcessLock(path, root);
  const locked = lock.acquire();
  if (!locked.ok) {
    const why =
      "why" in locked
        ? `${root} can't be locked: ${locked.why}`
        : `another stack uses ${root}; ${formatStopAdvice(locked.holder)}`;
    throw new StartupError(`${why}, or specify another --state-dir.`);
  }
  return {
    [Symbol.dispose]: () => {
      const isUnused = isNewLock && existsSync(root) && readdirSync(root).every(isLockFile);
      // Removed while locked, so that no other process locks a file that is about to be removed.
      if (isUnused) lock.remove();
      lock[Symbol.dispose]();
      if (isUnused && isNewDirectory) rmdirSync(root);
    },
  };
}

function formatStopAdvice(holder: LockHolder | undefined): string {
  return holder === undefined ? "stop it" : `stop it with kill ${holder.pid}`;
}

function isLockFile(name: string): boolean {
  return name.startsWith(lockName);
}

/** Removes all files of an earlier stack, except for this process's lock. */
export async function clearStateDirectory({ root }: StateDirectory): Promise<void> {
  const entries = readdirSync(root).filter((name) => !isLockFile(name));
  await Promise.all(entries.map((name) => rm(join(root, name), { recursive: true, force: true })));
}
