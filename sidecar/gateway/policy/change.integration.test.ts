import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { byHand, startFakeNode } from "../testing/fake-node.ts";
import { call, startTestGateway, until } from "../testing/test-gateway.ts";

const tier = {
  requestsPerSecond: 1e6,
  requestBurst: 1e6,
  computeUnitsPerSecond: 1e9,
  computeUnitBurst: 1e9,
  concurrency: 2_000,
};

it("a change of settings fails none of the 1,000 calls under way, and holds for those that come after it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-policy-"));
  const path = join(folder, "policy.json5");
  await writeFile(path, JSON.stringify({ tiers: { public: tier } }));
  await using node = await startFakeNode();
  await using gateway = await startTestGateway(node, { policyPath: path });
  const finish: (() => void)[] = [];
  node.answer(({ id }, response) => {
    finish.push(() => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":"late"}`));
    return byHand;
  });
  const underWay = Array.from({ length: 1_000 }, () => call(gateway.url, "eth_syncing"));
  await until("1,000 calls are under way", async () =>
    (await gateway.metrics.metrics()).includes("gatehouse_gateway_calls_in_flight 1000"),
  );
  const strict = { ...tier, concurrency: 1, methods: ["eth_coinbase"] };
  await writeFile(path, JSON.stringify({ tiers: { public: strict }, overload: { callsInFlight: 1 } }));
  await until("the change holds", async () => (await call(gateway.url, "eth_mining")).error?.code === -32601);
  const pump = setInterval(() => finish.splice(0).forEach((end) => end()), 1);
  const answers = await Promise.all(underWay);
  clearInterval(pump);
  expect(answers.filter(({ result }) => result !== "late")).toEqual([]);
  expect(await gateway.metrics.metrics()).toContain("gatehouse_gateway_calls_in_flight 0");
  await rm(folder, { recursive: true });
});
