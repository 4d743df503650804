import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { readCondition } from "#sidecar/testing/sidecar-status.ts";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { respondToRpc, goodResponses, risingHeight, serveNode } from "#sidecar/testing/watched-node.ts";
import type { ConditionType } from "#status/condition.ts";
import type { ConstantOverrides } from "../support/constant-overrides.ts";
import { gatehouseProgram } from "../support/programs/place.ts";
import { startService } from "../support/service-process.ts";
import { isLong } from "../support/run-size.ts";
import { mayMount, mountNames, startSilentNameServer, whySkipped } from "../support/silent-name-server.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** Deadline shorter than the outage, so that no lookup times out before it. */
const withinMs = 20_000;

const nameServer = mayMount ? await startSilentNameServer() : undefined;
afterAll(() => nameServer?.[Symbol.dispose]());
const why = nameServer === undefined ? whySkipped : "";

/** Starts a sidecar whose system queries that name server, and resolves `node.test` by itself. */
async function startSidecar(env: Readonly<Record<string, string>>, constants?: ConstantOverrides) {
  await using resources = new AsyncDisposableStack();
  const folder = await makeTestDirectory();
  const fake = resources.use(await createFakeNode());
  const program = join(folder, "gatehouse");
  const mountNamesBefore = await mountNames(folder, nameServer?.address ?? "");
  const words = [...mountNamesBefore, process.execPath, gatehouseProgram].map((word) => `'${word}'`).join(" ");
  await writeFile(program, `#!/bin/sh\nexec ${words} "$@"\n`);
  await chmod(program, 0o755);
  const sidecar = resources.use(
    await startService(
      "sidecar",
      buildEnvironment(fake, {
        GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
        GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
        GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
        GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "500",
        GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
        ...env,
      }),
      { program, constants },
    ),
  );
  const owned = resources.move();
  const condition = (name: ConditionType) => readCondition(sidecar.urls["sidecar"], name);
  return {
    condition,
    rpc: () => condition("RpcResponding"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Starts a healthy node that counts its checks. */
async function serveRequestCountingNode() {
  let looks = 0;
  const answer = respondToRpc({ ...goodResponses, eth_blockNumber: risingHeight });
  const node = await serveNode((request, response) => {
    looks += 1;
    return answer(request, response);
  });
  return { ...node, looks: () => looks };
}

test.skipIf(nameServer === undefined)(
  `keeps querying a node while no name server responds to other names, and reports once why its WebSocket does not respond${why}`,
  async () => {
    await using node = await serveRequestCountingNode();
    const references = ["one", "two", "three"].map((label) => `http://${label}-reference.test:8545`);
    await using sidecar = await startSidecar(
      {
        GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.url.replace("127.0.0.1", "node.test"),
        GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: "ws://unknown-socket.test:18200",
        GATEHOUSE_SIDECAR_LAG_REFERENCES: JSON.stringify(references),
      },
      { "lag.intervalMs": 500 },
    );
    await until("a name server is queried for three names", generousMs, () =>
      ["one-", "two-", "three-"].every((label) => nameServer?.wasAsked(label)),
    );
    const condition = await until("the sidecar has checked", generousMs, () =>
      sidecar.condition("WebSocketResponding"),
    );
    expect(condition.message).toMatch(/^the name unknown-socket.test can't be resolved: no DNS server responds\. /);
    const reasons = new Set<string | undefined>();
    const checksBefore = node.looks();
    await until("the node is queried ten more times", withinMs, async () => {
      reasons.add((await sidecar.condition("WebSocketResponding"))?.reason);
      return node.looks() >= checksBefore + 10;
    });
    expect(await sidecar.rpc()).toMatchObject({ reason: "Responding" });
    expect(reasons).toEqual(new Set(["NameNotResolved"]));
  },
);

test.skipIf(nameServer === undefined)(
  `does not report a node as unresponsive if its name can't be resolved${why}`,
  async () => {
    await using sidecar = await startSidecar({ GATEHOUSE_SIDECAR_NODE_HTTP_URL: "http://unknown-node.test:18100" });
    const said = await until("the sidecar has checked", generousMs, async () => {
      const rpc = await sidecar.rpc();
      return rpc?.reason === "NameNotResolved" ? rpc : undefined;
    });
    expect(said.message).toContain("the name unknown-node.test can't be resolved: no DNS server responds.");
  },
);

test.skipIf(nameServer === undefined)(
  `occupies a single file thread for a rate store with an unresolvable name, however often it is retried${why}`,
  async () => {
    const response = respondToRpc({ ...goodResponses, eth_blockNumber: risingHeight });
    await using node = await serveNode(response);
    await using sidecar = await startSidecar(
      {
        GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.url,
        GATEHOUSE_SIDECAR_GATEWAY_RATE_STORE_REDIS_URL: "redis://rate-store.test:6379",
      },
      { "upkeep.fileTimeoutMs": 1_000, "upkeep.rereadIntervalMs": 500 },
    );
    await until("a name server is queried for the store", generousMs, () => nameServer?.wasAsked("rate-store"));
    const reasons = new Set<string | undefined>();
    const askedAtMs = performance.now();
    // The client makes five attempts in this time; in a short run, two.
    await until("another attempt was made and again", generousMs, async () => {
      reasons.add((await sidecar.condition("ConfigReconciled"))?.reason);
      return performance.now() - askedAtMs > (isLong ? 11_000 : 4_300);
    });
    // There is one query for each address family.
    expect(nameServer?.countAsked("rate-store")).toBeLessThanOrEqual(2);
    expect(reasons).not.toContain("Unresponsive");
  },
);
