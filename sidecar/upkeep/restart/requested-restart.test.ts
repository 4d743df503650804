import { expect, test } from "vitest";
import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { auditEvents } from "../state/stored-event-log.ts";
import { requestRestart, findRequestedRestart, type RequestRestartDependencies } from "./requested-restart.ts";

const able = { authority: "acts", isRestarting: false, canRestart: true } as const;

/** Creates the state that keeps an operator's request, with a clock that the test sets. */
function keptWord(hold?: ReturnType<RequestRestartDependencies["state"]["hold"]["get"]>) {
  let asked: Readonly<{ atMs: number }> | undefined;
  const clock = { nowMs: 1_000_000, wallMs: () => clock.nowMs, monotonicMs: () => clock.nowMs };
  const state = {
    requestedRestart: { get: () => asked, set: (value: typeof asked) => void (asked = value) },
    hold: { get: () => hold, set: () => undefined },
    upgrade: { get: () => undefined, set: () => undefined },
  };
  const audited: AuditEntry[] = [];
  const events = auditEvents(createRecentEvents(clock), { add: (entry) => void audited.push(entry) });
  return { state, clock, events, audited };
}

test("a restart that is requested is due at once, and no budget bounds it", () => {
  const kept = keptWord();
  expect(findRequestedRestart(kept)).toBeUndefined();
  expect(requestRestart(able, kept)).toBe("requested");
  expect(findRequestedRestart(kept)).toMatchObject({ cause: "requested", urgent: true, isCharged: true });
});

test("after ten minutes, or with a clock that was put back, a request counts no more, and that is reported", () => {
  for (const laterMs of [600_001, -1]) {
    const kept = keptWord();
    requestRestart(able, kept);
    kept.clock.nowMs += laterMs;
    expect(findRequestedRestart(kept)).toBeUndefined();
    expect(kept.events.list()[0]?.message).toContain("was cancelled");
    kept.clock.nowMs -= laterMs;
    expect(findRequestedRestart(kept)).toBeUndefined();
  }
});

test("the audit log names the command that a person ran, and calls no restart made that was not", () => {
  const kept = keptWord();
  requestRestart(able, kept);
  kept.clock.nowMs += 600_001;
  findRequestedRestart(kept);
  expect(kept.audited).toMatchObject([
    { action: "node-restart", by: "gatehouse restart", outcome: "unknown" },
    { action: "node-restart", by: "sidecar", outcome: "failure" },
  ]);
});

test.each([
  [{ ...able, authority: "waits" }, "waits"],
  [{ ...able, authority: "observes" }, "observes"],
  [{ ...able, canRestart: false }, "no-driver"],
  [{ ...able, isRestarting: true }, "busy"],
] as const)("what stands in its way is the answer, and nothing is kept: %j", (situation, result) => {
  const kept = keptWord();
  expect(requestRestart(situation, kept)).toBe(result);
  expect(findRequestedRestart(kept)).toBeUndefined();
});

test("a hold has to be lifted first", () => {
  const kept = keptWord({ message: "It failed.", sinceMs: 0, desired: { hash: "a", release: undefined } });
  expect(requestRestart(able, kept)).toBe("paused");
});
