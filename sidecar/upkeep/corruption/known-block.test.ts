import { expect, test } from "vitest";
import { compareKnownBlock, hasKnownBlock } from "./known-block.ts";

const known = { number: 1_000, hash: "0x55" };

test.each([
  ["has it", { kind: "found", hash: "0x55" }, 1_100, "same", true],
  ["has it, and whose height is not known", { kind: "found", hash: "0x55" }, undefined, "same", true],
  ["has another hash there", { kind: "found", hash: "0x66" }, 1_100, "replaced", false],
  [
    "has another hash there, and a height below it that is out of date",
    { kind: "found", hash: "0x66" },
    999,
    "replaced",
    false,
  ],
  ["is at its height and does not have it", { kind: "gone" }, 1_000, "missing", false],
  ["is 10,000 blocks on and does not have it", { kind: "gone" }, 11_000, "missing", false],
  ["may have pruned it", { kind: "gone" }, 11_001, "pruned", true],
  ["has not come to it", { kind: "gone" }, 999, "unknown", false],
  ["has no height", { kind: "gone" }, undefined, "unknown", false],
  ["does not answer", { kind: "unknown" }, 1_100, "unknown", false],
] as const)("of a node that %s", (_, now, height, state, holds) => {
  expect(compareKnownBlock(known, now, height)).toBe(state);
  expect(hasKnownBlock(known, now, height)).toBe(holds);
});
