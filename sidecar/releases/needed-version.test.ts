import { expect, test } from "vitest";
import { parseNodeVersion } from "#node/versions.ts";
import { evaluateVersion, type RunningNode } from "./needed-version.ts";
import { readReleaseList } from "./release-lists.ts";

const day = 86_400;
const list = [
  { version: "0.15.0" },
  { version: "0.16.0", minVersionAt: 1_000 },
  { version: "v0.17.0", minVersionAt: 2_000, note: "the fork of March" },
];

function judge(version: string | undefined, more: Partial<RunningNode> = {}) {
  const node = { height: 1_500, secondsPerBlock: 1, nowMs: Date.parse("2027-03-01T00:10:00Z"), ...more };
  return evaluateVersion(
    list,
    { version: version === undefined ? undefined : parseNodeVersion(version), ...node },
    7 * day,
  );
}

test("reports whether a version is outdated, will be outdated soon, or is new enough", () => {
  expect(judge("0.15.9")).toMatchObject({
    reason: "Outdated",
    message:
      "The node is 0.15.9 at block 1500; from block 1000, the chain requires 0.16.0. Upgrade it now: gatehouse upgrade.",
  });
  expect(judge("0.16.2")).toMatchObject({
    reason: "OutdatedSoon",
    message:
      "The node is 0.16.2; from block 2000 (about 2027-03-01T00:00Z at the current rate; now at 1500), the chain requires v0.17.0 (the fork of March). Upgrade it before then: gatehouse upgrade.",
  });
  expect(judge("0.17.0-rc.1")).toMatchObject({ status: "True", reason: "Supported" });
});

test("reports a distant height as supported, and one with no time estimate as unknown", () => {
  expect(judge("0.16.2", { secondsPerBlock: day })).toMatchObject({ reason: "Supported" });
  expect(judge("0.16.2", { secondsPerBlock: (7 * day) / 500 })).toMatchObject({ reason: "OutdatedSoon" });
  expect(judge("0.16.2", { secondsPerBlock: undefined })).toMatchObject({
    status: "Unknown",
    reason: "NotCompared",
    message: expect.stringContaining("time unknown, because"),
  });
});

test("requires the latest listed version at its height and beyond", () => {
  expect(judge("0.16.2", { height: 2_000 })).toMatchObject({
    reason: "Outdated",
    message: expect.stringContaining("2000"),
  });
  expect(judge("0.15.0", { height: 3_000 })).toMatchObject({ message: expect.stringContaining("v0.17.0") });
});

test("compares nothing without a version or a height", () => {
  expect(judge(undefined)).toMatchObject({ status: "Unknown", reason: "NotCompared" });
  expect(judge("0.16.2", { height: undefined })).toMatchObject({ reason: "NotCompared" });
});

const rejectedFor = (problem: unknown) => ({ ok: false, problems: [problem] });

test("reports what is wrong in an invalid list, and where", () => {
  expect(readReleaseList(list)).toEqual({ ok: true, value: { releases: list, forks: [] } });
  expect(readReleaseList({})).toEqual(rejectedFor(expect.stringContaining("the file: ")));
  expect(readReleaseList([{ version: "new" }])).toEqual(rejectedFor("0.version: expected a version such as 0.16.2."));
  expect(readReleaseList([{ version: "0.1.0", minVersion: 1 }])).toEqual(
    rejectedFor(expect.stringContaining("minVersion")),
  );
});
