import { expect, test } from "vitest";
import type { AuditEntry } from "#daemon/audit/audit-log.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { auditEvents } from "../state/stored-event-log.ts";
import { makeContext, openTestState } from "../../testing/upkeep-context.ts";
import { requestRestart, findRequestedRestart } from "./requested-restart.ts";

/** A sidecar that may restart its node, with a clock that the test sets. */
async function createContext(parts: Parameters<typeof makeContext>[0] = {}) {
  const clock = { nowMs: 1_000_000, wallMs: () => clock.nowMs, monotonicMs: () => clock.nowMs };
  const auditEntries: AuditEntry[] = [];
  const events = auditEvents(createRecentEvents(clock), { add: (entry) => void auditEntries.push(entry) });
  const context = makeContext({ state: await openTestState(), clock, events, driver: { name: "ops" }, ...parts });
  return { context, clock, auditEntries };
}

test("makes a requested restart due immediately, regardless of the budget", async () => {
  const { context } = await createContext();
  expect(findRequestedRestart(context)).toBeUndefined();
  expect(requestRestart(context, "gatehouse restart")).toBe("requested");
  expect(findRequestedRestart(context)).toMatchObject({ cause: "requested", urgent: true, isCharged: true });
});

test.each([600_001, -1])("expires a request after %s ms, and reports and audits it", async (laterMs) => {
  const { context, clock, auditEntries } = await createContext();
  requestRestart(context, "gatehouse restart");
  clock.nowMs += laterMs;
  expect(findRequestedRestart(context)).toBeUndefined();
  expect(context.events.list()[0]?.message).toContain("was cancelled");
  clock.nowMs -= laterMs;
  expect(findRequestedRestart(context)).toBeUndefined();
  expect(auditEntries).toMatchObject([
    { action: "node-restart", by: "gatehouse restart", outcome: "unknown" },
    { action: "node-restart", by: "sidecar", outcome: "failure" },
  ]);
});

const hold = { message: "It failed.", sinceMs: 0, desired: { hash: "a", release: undefined } };

test.each([
  ["waits", { authority: () => "waits" }, undefined],
  ["observes", { authority: () => "observes" }, undefined],
  ["no-driver", { driver: undefined }, undefined],
  ["busy", { isRestarting: () => true }, undefined],
  ["paused", {}, hold],
])("responds with the reason that prevents a restart, and stores nothing: %s", async (result, parts, paused) => {
  const { context } = await createContext(parts);
  context.state.hold.set(paused);
  expect(requestRestart(context, "gatehouse restart")).toBe(result);
  expect(findRequestedRestart(context)).toBeUndefined();
});
