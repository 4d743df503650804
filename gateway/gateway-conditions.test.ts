import { expect, test } from "vitest";
import type { NodeInfo } from "#health/rpc-state.ts";
import type { NodeFitness } from "./chain/chain-head.ts";
import { deriveFilesCondition, evaluateNodeFitness } from "./gateway-conditions.ts";

const rejectedFailure = { reason: "ConnectionRefused", message: "Rejected." } as const;
const stalledFault = { reason: "Stalled", message: "Stalled." } as const;
const lagFault = { reason: "Behind", message: "Behind.", blocks: 90 } as const;
const nowMs = 10_000;

test.each<[string, NodeInfo, NodeFitness]>([
  ["without any data", {}, "chainUnknown"],
  ["whose first check failed a moment ago", { rpc: { sinceMs: 7_001, fault: rejectedFailure } }, "chainUnknown"],
  ["that responds", { rpc: { sinceMs: 0, fault: undefined }, chain: "expected", height: "advancing" }, "fit"],
  ["unresponsive for less than 3 s", { rpc: { sinceMs: 7_001, fault: rejectedFailure }, chain: "expected" }, "fit"],
  ["unresponsive for 3 s", { rpc: { sinceMs: 7_000, fault: rejectedFailure } }, "down"],
  ["on a different chain", { rpc: { sinceMs: 0, fault: undefined }, chain: "another" }, "anotherChain"],
  ["whose height stalls while the references advance", { chain: "expected", height: stalledFault }, "behind"],
  ["behind the references", { chain: "expected", height: "advancing", lag: lagFault }, "behind"],
  ["whose chain produces no blocks", { chain: "expected", height: "idle", lag: "current" }, "fit"],
])("health of a node %s", (_, facts, fitness) => {
  expect(evaluateNodeFitness(facts, { hasReferences: true, nowMs })).toBe(fitness);
});

test("a node without references never counts as behind", () => {
  expect(evaluateNodeFitness({ chain: "expected", height: stalledFault }, { hasReferences: false, nowMs })).toBe("fit");
});

const policy = {
  setting: "gateway.policyPath",
  path: "/etc/policy.json5",
  sha256: "00",
  readAt: "2026-01-01T12:00:00.000Z",
};
const keys = { ...policy, setting: "gateway.callers.keysPath", path: "/etc/keys.json5" };

test("reports no condition without hot-reloaded files", () => {
  expect(deriveFilesCondition([])).toBeUndefined();
});

test("reports True and lists the active files", () => {
  expect(deriveFilesCondition([policy, keys])).toEqual({
    type: "FilesLoaded",
    status: "True",
    reason: "Loaded",
    message: "The content of /etc/policy.json5, /etc/keys.json5 is active.",
  });
});

test("reports False for a rejected file, with the reason and the version that stays active", () => {
  expect(deriveFilesCondition([{ ...policy, problems: ["ranges: no.", "tiers: no."] }, keys])).toEqual({
    type: "FilesLoaded",
    status: "False",
    reason: "Rejected",
    message:
      "/etc/policy.json5 (gateway.policyPath) is invalid: ranges: no. tiers: no. The content read at 2026-01-01T12:00:00.000Z stays active. " +
      "Fix the file: it is reloaded when saved.",
  });
});
