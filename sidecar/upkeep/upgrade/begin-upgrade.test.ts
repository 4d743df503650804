import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import { systemClock } from "#daemon/clock.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { begunUpgrade } from "../../testing/begun-upgrade.ts";
import { auditEvents } from "../state/audited-event-log.ts";
import { openUpkeepState, type UpkeepState } from "../state/upkeep-state.ts";
import { beginUpgrade } from "./begin-upgrade.ts";
import { observeUpgrade } from "./upgrade-observation.ts";

const check = { plan: { steps: ["Stop."], problems: [], warnings: [], digest: "d1" }, record: begunUpgrade };
const nothing = async () => ({});
let directory: string;
let state: UpkeepState;
let audited: AuditEntry[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "gatehouse-begin-"));
  state = openUpkeepState(directory);
  audited = [];
});

afterEach(() => {
  state[Symbol.dispose]();
  rmSync(directory, { recursive: true });
});

function begin(digest: string | undefined, isRestarting = false, record = begunUpgrade) {
  return beginUpgrade(
    { ...check, record },
    digest,
    { upgrade: observeUpgrade(undefined, undefined) },
    {
      settings: { restart: { driver: "ops" } },
      driver: { name: "ops", restart: nothing, stop: nothing, start: nothing },
      state,
      authority: () => "acts",
      isRestarting: () => isRestarting,
      budget: { allows: () => true },
      wake: () => undefined,
      events: auditEvents(createRecentEvents(systemClock), { add: (entry) => void audited.push(entry) }),
    },
  );
}

test("what was agreed to begins, and what was only looked at, or is another one now, does not", () => {
  expect(begin(undefined).result).toBe("shown");
  expect(begin("d2").result).toBe("another");
  expect(state.upgrade.get()).toBeUndefined();
  expect(begin("d1")).toMatchObject({ result: "begun", beganMs: begunUpgrade.beganMs });
  expect(state.upgrade.get()).toEqual(begunUpgrade);
});

test("a second request that was looked at during the first is refused", () => {
  expect(begin("d1").result).toBe("begun");
  expect(begin("d1")).toMatchObject({ result: "refused", plan: { steps: [], problems: ["an upgrade is under way"] } });
});

test("a hold, and a restart, that came during the look refuse it", () => {
  expect(begin("d1", true)).toMatchObject({ result: "refused" });
  state.hold.set({ desired: { hash: "h" }, message: "m", sinceMs: 1 });
  expect(begin("d1")).toMatchObject({ result: "refused", plan: { problems: [expect.stringContaining("a hold")] } });
  expect(state.upgrade.get()).toBeUndefined();
});

test("a restore that lifts a hold says so, in the audit log too", () => {
  state.hold.set({ desired: { hash: "h" }, message: "It failed.", sinceMs: 1 });
  expect(begin("d1", false, { ...begunUpgrade, restoredFrom: ["/snapshot"] }).result).toBe("begun");
  expect(state.hold.get()).toBeUndefined();
  expect(audited).toMatchObject([
    { action: "hold-changed", by: "gatehouse restore", outcome: "success", before: { hold: "It failed." } },
  ]);
});
