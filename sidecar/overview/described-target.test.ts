import { expect, test } from "vitest";
import { targetStatus, describeTarget } from "./target-watch.ts";

const status = {
  at: "2026-01-01T12:00:00.000Z",
  healthy: false,
  node: { answers: false },
  conditions: [],
  verdict: { level: "down" },
  headline: { state: "Node down", cause: "It refuses connections.", since: "2026-01-01T11:58:00.000Z" },
  figures: {},
};

test.each([true, false])("reports whether the state began before the sidecar started: %s", (beganEarlier) => {
  const parsedStatus = targetStatus.parse({ ...status, headline: { ...status.headline, beganEarlier } });
  const nowMs = Date.parse(status.at);
  expect(describeTarget(parsedStatus, nowMs)).toMatchObject({ sinceMs: nowMs - 120_000, beganEarlier });
});
