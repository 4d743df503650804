import { expect, test } from "vitest";
import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { auditEvents } from "../state/stored-event-log.ts";
import { requestRestart, findRequestedRestart, type RequestRestartDependencies } from "./requested-restart.ts";

const able = { authority: "acts", isRestarting: false, canRestart: true } as const;

/** Creates the state that stores an operator's request, with a clock that the test sets. */
function createState(hold?: ReturnType<RequestRestartDependencies["state"]["hold"]["get"]>) {
  let requested: Readonly<{ atMs: number }> | undefined;
  const clock = { nowMs: 1_000_000, wallMs: () => clock.nowMs, monotonicMs: () => clock.nowMs };
  const state = {
    requestedRestart: { get: () => requested, set: (value: typeof requested) => void (requested = value) },
    hold: { get: () => hold, set: () => undefined },
    upgrade: { get: () => undefined, set: () => undefined },
  };
  const audited: AuditEntry[] = [];
  const events = auditEvents(createRecentEvents(clock), { add: (entry) => void audited.push(entry) });
  return { state, clock, events, audited };
}

test("makes a requested restart due immediately, regardless of the budget", () => {
  const stored = createState();
  expect(findRequestedRestart(stored)).toBeUndefined();
  expect(requestRestart(able, stored)).toBe("requested");
  expect(findRequestedRestart(stored)).toMatchObject({ cause: "requested", urgent: true, isCharged: true });
});

test.each([600_001, -1])("expires a request after %s ms, and reports and audits it", (laterMs) => {
  const stored = createState();
  requestRestart(able, stored);
  stored.clock.nowMs += laterMs;
  expect(findRequestedRestart(stored)).toBeUndefined();
  expect(stored.events.list()[0]?.message).toContain("was cancelled");
  stored.clock.nowMs -= laterMs;
  expect(findRequestedRestart(stored)).toBeUndefined();
  expect(stored.audited).toMatchObject([
    { action: "node-restart", by: "gatehouse restart", outcome: "unknown" },
    { action: "node-restart", by: "sidecar", outcome: "failure" },
  ]);
});

const hold = { message: "It failed.", sinceMs: 0, desired: { hash: "a", release: undefined } };

test.each([
  [{ ...able, authority: "waits" }, undefined, "waits"],
  [{ ...able, authority: "observes" }, undefined, "observes"],
  [{ ...able, canRestart: false }, undefined, "no-driver"],
  [{ ...able, isRestarting: true }, undefined, "busy"],
  [able, hold, "paused"],
] as const)("responds with the reason that prevents a restart, and stores nothing: %j", (situation, paused, result) => {
  const stored = createState(paused);
  expect(requestRestart(situation, stored)).toBe(result);
  expect(findRequestedRestart(stored)).toBeUndefined();
});
