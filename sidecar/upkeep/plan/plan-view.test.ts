import { expect, test } from "vitest";
import type { Plan } from "./plan.ts";
import { createPlanView } from "./plan-view.ts";

const restart: Plan = { actions: [{ kind: "restart", reason: "the node reads it only at startup" }], problems: [] };

test("promises no restart if no driver can restart the node", () => {
  expect(createPlanView(restart, undefined, { prunes: false, restarts: true }).steps).toEqual([
    "the node is restarted (the node reads it only at startup)",
  ]);
  expect(createPlanView(restart, undefined, { prunes: false, restarts: false }).steps).toEqual([
    "the node must be restarted manually, because restart.driver is none (the node reads it only at startup)",
  ]);
});

test("includes irreversible pruning in the approved plan even before its state is known", () => {
  const { steps, digest } = createPlanView({ actions: [], problems: [] }, undefined, { prunes: true, restarts: true });
  expect(steps).toEqual([expect.stringMatching(/^auto-pruning is enabled once .* this can't be undone/)]);
  expect(digest).not.toBe(
    createPlanView({ actions: [], problems: [] }, undefined, { prunes: false, restarts: true }).digest,
  );
});

test("lists irreversible steps first, and includes missing prerequisites in the approved plan", () => {
  const prune = { kind: "enable-auto-prune", reason: "it is desired" } as const;
  const pruningPlan = { actions: [...restart.actions, prune], problems: [] };
  const means = { prunes: true, restarts: true };
  const view = createPlanView(pruningPlan, undefined, { ...means, missing: ["node_cli is not there."] });
  expect(view.steps.map((step) => step.split(" (")[0])).toEqual([
    "auto-pruning is enabled",
    expect.stringMatching(/^auto-pruning is enabled once/),
    "the node is restarted",
  ]);
  expect(view.problems).toEqual(["node_cli is not there."]);
  expect(view.digest).not.toBe(createPlanView(pruningPlan, undefined, means).digest);
});
