import { expect, test } from "vitest";
import { compareKnownBlock, hasKnownBlock } from "./assess-data.ts";

const known = { number: 1_000, hash: "0x55" };

test.each([
  ["has it", { kind: "found", hash: "0x55" }, 1_100, "same", true],
  ["has it, at an unknown height", { kind: "found", hash: "0x55" }, undefined, "same", true],
  ["has a different hash for it", { kind: "found", hash: "0x66" }, 1_100, "replaced", false],
  ["has a different hash for it and a stale, lower height", { kind: "found", hash: "0x66" }, 999, "replaced", false],
  ["is at its height and lacks it", { kind: "gone" }, 1_000, "missing", false],
  ["is 10,000 blocks ahead and lacks it", { kind: "gone" }, 11_000, "missing", false],
  ["may have pruned it", { kind: "gone" }, 11_001, "pruned", true],
  ["has not reached it", { kind: "gone" }, 999, "unknown", false],
  ["reports no height", { kind: "gone" }, undefined, "unknown", false],
  ["does not respond", { kind: "unknown" }, 1_100, "unknown", false],
] as const)("checks the known block of a node that %s", (_, now, height, state, holds) => {
  expect(compareKnownBlock(known, now, height)).toBe(state);
  expect(hasKnownBlock(known, now, height)).toBe(holds);
});
