import { expect, test } from "vitest";
import { compareHeights } from "./reference-watch.ts";

const at = (height: number) => ({ url: "http://x", height });

test("does not report a node as behind because of a single reference far ahead", () => {
  expect(compareHeights(100, [at(101), at(99), at(1_000_000)], 50)).toMatchObject({
    lagBlocks: 1,
    condition: { reason: "Synced" },
  });
  expect(compareHeights(100, [{ url: "http://x", failure: "http://x is down." }], 50).condition).toMatchObject({
    reason: "NoReference",
    message: "No reference endpoint responded: http://x is down.",
  });
});
