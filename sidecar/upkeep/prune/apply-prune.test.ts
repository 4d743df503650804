import { pino } from "pino";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { unknownHealth } from "#health/rpc-state.ts";
import { createCharts } from "#status/charts.ts";
import type { Plan } from "../plan/plan.ts";
import { applyPrune } from "./apply-prune.ts";
import { createObservation } from "#health/observation.ts";
import { derivePruneConditions, type PruningState } from "./prune-observation.ts";

const fail = () => Promise.reject(new TypeError("not foreseen"));

test("stops reporting auto-pruning as on after an unexpected error while enabling it", async () => {
  const seen = createObservation<PruningState>({});
  seen.note({ autoPrune: { kind: "on" } });
  const planned = { actions: [{ kind: "enable-auto-prune", reason: "it is off" }], problems: [] } as unknown as Plan;
  const info = { autoPrune: false } as never;
  const options = {
    idle: undefined,
    authority: "acts" as const,
    isRestarting: false,
    stalledAfterMs: 1_000,
    signal: new AbortController().signal,
  };
  applyPrune(planned, seen, options, {
    observer: { pruneInfo: () => info, check: fail },
    nodeCli: {
      enableAutoPrune: fail,
      pruneInfo: fail,
      version: fail,
      enableCommand: () => "node_cli prune --enable_auto_prune",
    },
    health: { current: () => unknownHealth },
    events: { add: () => undefined, begin: () => undefined, fail: () => undefined, list: () => [] },
    charts: createCharts(),
    metrics: { pruneInfo: () => undefined },
    clock: systemClock,
    log: pino({ level: "silent" }),
    wake: () => undefined,
  });
  await seen.now().running;
  expect(seen.now().autoPrune).toMatchObject({ kind: "notSwitchedOn", reason: "Failed" });
});

test.each([
  ["waits", "Gatehouse enables it once you approve with `gatehouse adopt`."],
  ["acts", "Gatehouse enables it once that is resolved."],
] as const)("leaves enabling auto-pruning to a sidecar that %s", (authority, remedy) => {
  const autoPrune = { kind: "off", idle: "it can't act", authority, command: "node_cli prune" } as const;
  expect(derivePruneConditions({ autoPrune }, (verb) => `gatehouse ${verb}`)).toMatchObject([
    { reason: "Disabled", message: `Auto-pruning is off, and it can't act. ${remedy}` },
  ]);
});
