import { readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { spawnStack } from "../support/running-stack.ts";
import { until } from "../support/until.ts";

/** Everything below a directory, with its mode in octal digits. */
function modesBelow(root: string): ReadonlyMap<string, string> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(root, path), (statSync(path).mode & 0o777).toString(8)];
    }),
  );
}

/** What a running node of the devnet keeps for itself; the sidecar's lock beside node.conf is the sidecar's. */
function isNodes(path: string): boolean {
  return path === "node" || (path.startsWith("node/") && !path.startsWith("node/bin/.node.conf.lock"));
}

test("everything that a run keeps is for its user alone", async () => {
  await using stack = await spawnStack();
  await until("the stack is up", 60_000, () => stack.output().includes("Ctrl-C stops everything."));
  const running = modesBelow(stack.stateDirectory);
  await stack.stop();
  const stopped = modesBelow(stack.stateDirectory);
  const kept = [...new Map([...running, ...stopped])].filter(([path]) => !isNodes(path));
  expect(kept.map(([path]) => path)).toEqual(
    expect.arrayContaining([
      "stack.lock",
      "routes.json5",
      "keys/signer",
      "keys/client",
      "log/sidecar.log",
      "facilitator.sqlite",
      "facilitator.sqlite-wal",
      "resource-server.sqlite",
      "pushgateway.data",
      "sidecar/upkeep.sqlite",
      "sidecar/last-good.conf",
      "sidecar/.sidecar.lock",
      "sidecar/.sidecar.lock.json",
      "sidecar/control/sidecar.sock",
      "node/bin/.node.conf.lock",
      "node/bin/.node.conf.lock.json",
    ]),
  );
  const open = kept.filter(([, mode]) => mode !== "600" && mode !== "700");
  expect(open).toEqual([]);
});
