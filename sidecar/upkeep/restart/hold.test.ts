import { expect, test } from "vitest";
import type { NodeHealth } from "#health/node-health.ts";
import { isBack } from "./hold.ts";

const answers: NodeHealth = { answers: 5, height: 7 };
const down = { reason: "node.conf was changed", height: 7, isDown: true };
const reference = (height: number | undefined) => ({ reference: { height, askedAtMs: 0 } });

test.each<[string, Partial<NodeHealth>, typeof down, boolean]>([
  ["it has more blocks than when it failed", { height: 8 }, down, true],
  ["it gives no answer", { failure: { reason: "Refused", message: "" } }, down, false],
  ["it answers again, on a chain whose blocks come steadily", { rhythm: "steady" }, down, false],
  ["it answers again, on a chain that makes a block now and then", { rhythm: "irregular" }, down, true],
  ["it answers again, on a chain that was at rest at the first look", { rhythm: "unknown", restingAt: 7 }, down, true],
  ["it answers again, and nobody knows the chain", { rhythm: "unknown" }, down, false],
  ["it answers again, and the references have no block more", { ...reference(7), rhythm: "steady" }, down, true],
  ["it answers again, and the references have more blocks", { ...reference(9), rhythm: "irregular" }, down, false],
  ["it answers again, with fewer blocks", { height: 6, rhythm: "irregular" }, down, false],
  ["it answered at this height already when it failed", { rhythm: "irregular" }, { ...down, isDown: false }, false],
])("whether a node has come back: %s", (_, health, failed, back) => {
  expect(isBack(failed, { ...answers, ...health })).toBe(back);
});
