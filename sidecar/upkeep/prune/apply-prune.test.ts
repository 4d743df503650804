import { expect, test } from "vitest";
import { unknownHealth } from "#health/rpc-state.ts";
import { makeContext } from "../../testing/upkeep-context.ts";
import type { Plan } from "../plan/plan.ts";
import { applyPrune } from "./apply-prune.ts";
import { derivePruneConditions } from "./prune-observation.ts";

const prunePlan = { actions: [{ kind: "enable-auto-prune", reason: "it is off" }], problems: [] } as unknown as Plan;
const fail = () => Promise.reject(new TypeError("not foreseen"));

test("stops reporting auto-pruning as on after an unexpected error while enabling it", async () => {
  const info = { autoPrune: false };
  const context = makeContext({
    settings: { prune: { stalledAfterMs: 1_000 } },
    observer: { pruneInfo: () => info, check: fail },
    nodeCli: { enableAutoPrune: fail, enableCommand: () => "node_cli prune --enable_auto_prune" },
    health: { current: () => unknownHealth },
  });
  const { prune: seen } = context;
  seen.note({ autoPrune: { kind: "on" } });
  applyPrune(prunePlan, undefined, context);
  await seen.now().running;
  expect(seen.now().autoPrune).toMatchObject({ kind: "notSwitchedOn", reason: "Failed" });
});

test("reports a node_cli that exits with status 0, enables nothing and prints nothing", async () => {
  const info = { autoPrune: false };
  const context = makeContext({
    settings: { prune: { stalledAfterMs: 1_000 } },
    observer: { pruneInfo: () => info, check: () => Promise.resolve() },
    nodeCli: { enableAutoPrune: () => Promise.resolve({ ok: true, value: "" }), enableCommand: () => "node_cli prune" },
    health: { current: () => unknownHealth },
  });
  applyPrune(prunePlan, undefined, context);
  await context.prune.now().running;
  expect(context.prune.now().autoPrune).toEqual({
    kind: "notSwitchedOn",
    reason: "EnableFailed",
    message: "`node_cli prune` exited with status 0, but enable_auto_prune is not 1; run it manually to see why.",
  });
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
