import { expect, test } from "vitest";
import type { NodeInfo } from "#health/rpc-state.ts";
import type { NodeFitness } from "./chain/head.ts";
import { evaluateNodeFitness } from "./guarded-node.ts";

const refused = { reason: "ConnectionRefused", message: "Refused." } as const;
const stalled = { reason: "Stalled", message: "Stalled." } as const;
const behind = { reason: "Behind", message: "Behind.", blocks: 90 } as const;
const clock = { monotonicMs: () => 10_000, wallMs: () => 0 };

test.each<[string, NodeInfo, NodeFitness]>([
  ["of which nothing is known", {}, "chainUnknown"],
  ["whose first look failed a moment ago", { rpc: { sinceMs: 7_001, fault: refused } }, "chainUnknown"],
  ["that answers", { rpc: { sinceMs: 0, fault: undefined }, chain: "expected", height: "advancing" }, "fit"],
  ["that has been silent for less than 3 s", { rpc: { sinceMs: 7_001, fault: refused }, chain: "expected" }, "fit"],
  ["that has been silent for 3 s", { rpc: { sinceMs: 7_000, fault: refused } }, "down"],
  ["that answers another chain", { rpc: { sinceMs: 0, fault: undefined }, chain: "another" }, "anotherChain"],
  ["whose height stands still while the references' rises", { chain: "expected", height: stalled }, "behind"],
  ["that is behind the references", { chain: "expected", height: "advancing", lag: behind }, "behind"],
  ["whose chain makes no block", { chain: "expected", height: "idle", lag: "current" }, "fit"],
])("a node %s", (_, facts, fitness) => {
  expect(evaluateNodeFitness({ hasReferences: true }, { facts, clock })).toBe(fitness);
});

test("a node is never behind where nobody else knows the chain", () => {
  expect(evaluateNodeFitness({ hasReferences: false }, { facts: { chain: "expected", height: stalled }, clock })).toBe(
    "fit",
  );
});
