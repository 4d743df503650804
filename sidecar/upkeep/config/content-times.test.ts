import { expect, test } from "vitest";
import type { ConfigProblemReason } from "#node/conf/problem.ts";
import type { ConfigReading } from "./config-file.ts";
import { trackContent, type ContentTimes } from "./content-times.ts";

const unread: ContentTimes = { contentSinceMs: 0, otherAtMs: 0 };
const usable = (contentHash: string) => ({ ok: true, contentHash }) as unknown as ConfigReading;
const broken = (reason: ConfigProblemReason) =>
  ({ ok: false, contentHash: reason, problem: { reason, message: reason } }) as unknown as ConfigReading;

const clockAt = (at: number) => ({ monotonicMs: () => at * 1_000, wallMs: () => at * 1_000 + 1 });

/** Reads each content, one per second from second 1 on. */
function readInTurn(...readings: readonly ConfigReading[]): ContentTimes {
  return readings.reduce((before, reading, at) => trackContent(before, reading, clockAt(at + 1)), unread);
}

test("content counts as unchanged while it is read again", () => {
  expect(readInTurn(usable("a"), usable("a"))).toMatchObject({
    contentSinceMs: 1_000,
    otherAtMs: 0,
    checkedAtMs: 2_001,
  });
  expect(readInTurn(usable("a"), usable("b"))).toMatchObject({ contentSinceMs: 2_000, otherAtMs: 1_001 });
});

test("content that a start script empties and writes again counts as unchanged", () => {
  const rewritten = readInTurn(usable("a"), broken("Empty"), broken("Truncated"), usable("a"));
  expect(rewritten).toMatchObject({ contentSinceMs: 1_000, otherAtMs: 0, startable: undefined });
});

test("content counts as changed after other content, or after a problem with which a node may start", () => {
  const changed = { contentSinceMs: 4_000, otherAtMs: 3_001 };
  expect(readInTurn(usable("a"), broken("Empty"), usable("b"), usable("a"))).toMatchObject(changed);
  expect(readInTurn(usable("a"), broken("NoChain"), broken("Empty"), usable("a"))).toMatchObject(changed);
  expect(readInTurn(usable("a"), broken("Empty"), broken("NoChain"), usable("a"))).toMatchObject(changed);
});
