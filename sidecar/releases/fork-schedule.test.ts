import { expect, test } from "vitest";
import { evaluateForks, type ForkSituation } from "./fork-schedule.ts";
import { readReleaseList, type Fork } from "./release-lists.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const weekSeconds = (7 * dayMs) / 1_000;
const epochs = { startMs: Date.parse("2026-01-01T00:00:00Z"), lengthMs: 4 * hourMs };
const early: Fork = { name: "Net-260101", version: 10, epoch: 0, commit: "aaaaaaaaa" };
const march: Fork = { name: "Net-260301", version: 12, epoch: 354, commit: "bbbbbbbbb" };
const atMarch = epochs.startMs + 354 * epochs.lengthMs;

const judge = (more: Partial<ForkSituation>) =>
  evaluateForks(
    { own: [early], published: [march, early], commit: undefined, epochs, nowMs: atMarch - 3 * dayMs, ...more },
    weekSeconds,
  );

test("warns days ahead, and again after activation, of a fork that the binaries don't support, with its epoch and time", () => {
  expect(judge({})).toMatchObject({
    status: "False",
    reason: "OutdatedSoon",
    message:
      "The next fork is at epoch 354, in 3 days (2026-03-01T00:00Z): spec 12 (Net-260301); this node has spec 10. Upgrade the binaries and VERSION before then: gatehouse upgrade.",
  });
  expect(judge({ nowMs: atMarch - 20 * dayMs })).toMatchObject({ reason: "Supported" });
  expect(judge({ nowMs: atMarch })).toMatchObject({
    reason: "Outdated",
    message: expect.stringContaining(
      "From epoch 354, the chain requires spec 12 (Net-260301), which is already active",
    ),
  });
});

test("reports a node that supports the next fork as healthy, with the activation time", () => {
  expect(judge({ own: [early, march] })).toMatchObject({
    status: "True",
    message:
      "The next fork is at epoch 354, in 3 days (2026-03-01T00:00Z): spec 12 (Net-260301); this node has spec 12.",
  });
  expect(judge({ own: [early, march], nowMs: atMarch })).toMatchObject({
    status: "True",
    message: "The schedule has no upcoming fork; this node has spec 12.",
  });
});

test("checks the binaries by the commit that a fork requires, not by a replaced VERSION file", () => {
  expect(judge({ own: [early, march], commit: "aaaaaaaaa1" })).toMatchObject({ reason: "OutdatedSoon" });
  expect(judge({ own: undefined, commit: "bbbbbbb" })).toMatchObject({ status: "True" });
  expect(judge({ own: undefined, commit: "ccccccc" })).toMatchObject({ status: "Unknown", reason: "NotCompared" });
});

test("reports only the epoch if the time of epoch 0 is unknown", () => {
  expect(judge({ epochs: undefined })).toMatchObject({
    status: "Unknown",
    message: expect.stringMatching(/^From epoch 354, the chain requires spec 12.*set upgrade\.epochZeroMs/),
  });
  expect(judge({ epochs: undefined, own: [march] })).toMatchObject({ status: "True" });
});

test("parses a fork schedule and reports where an invalid one is malformed", () => {
  const schedule = { "Net-260301": { version: 12, epoch: 354, commit: "bbbbbbbbb" } };
  expect(readReleaseList(schedule)).toEqual({ ok: true, value: { releases: [], forks: [march] } });
  expect(readReleaseList({ "Net-260301": { version: 12 } })).toEqual({
    ok: false,
    problems: [expect.stringContaining("Net-260301.epoch")],
  });
});
