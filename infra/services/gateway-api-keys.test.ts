import { expect, test } from "vitest";
import { renderApiKeys } from "./gateway-api-keys.ts";

const sha256 = "a".repeat(64);

test("renders keys into the gateway's file, which exists even without keys", () => {
  const { liveFiles, keysPath, problems } = renderApiKeys({ ops: { sha256, tier: "paid" } });
  expect(keysPath).toBe("/run/gatehouse/live/api-keys.json5");
  expect(liveFiles.map(({ name, content }) => [name, JSON.parse(String(content))])).toEqual([
    ["api-keys.json5", { keys: [{ name: "ops", sha256, tier: "paid" }] }],
  ]);
  expect(problems).toEqual([]);
  expect(renderApiKeys().liveFiles.map(({ content }) => JSON.parse(String(content)))).toEqual([{ keys: [] }]);
});

const tier = { requestsPerSecond: 1, requestBurst: 1, computeUnitsPerSecond: 1, computeUnitBurst: 1, concurrency: 1 };

test.each([
  ["an unknown tier", { ops: { sha256, tier: "gold" } }, {}, "gatewayApiKeys.ops.tier", "public, paid, internal"],
  [
    "a tier missing from the configured tiers",
    { ops: { sha256, tier: "paid" } },
    { gateway: { tiers: { gold: tier } } },
    "gatewayApiKeys.ops.tier",
    "only gold",
  ],
  [
    "one key with two holders",
    { ops: { sha256, tier: "paid" }, ci: { sha256, tier: "paid" } },
    {},
    "gatewayApiKeys.ci.sha256",
    "the key of ops",
  ],
  [
    "keys next to an operator's own file",
    { ops: { sha256, tier: "paid" } },
    { gateway: { callers: { keysPath: "/data/keys.json5" } } },
    "gatewayApiKeys",
    "have no effect",
  ],
])("rejects %s", (_, keys, settings, key, message) => {
  const { problems } = renderApiKeys(keys, settings);
  expect(problems.map((problem) => problem.key)).toEqual([key]);
  expect(problems[0]?.message).toContain(message);
});

test("delivers no keys when the operator sets keysPath", () => {
  const { keysPath, liveFiles, problems } = renderApiKeys(
    {},
    { gateway: { callers: { keysPath: "/data/keys.json5" } } },
  );
  expect([keysPath, liveFiles, problems]).toEqual([undefined, [], []]);
});
