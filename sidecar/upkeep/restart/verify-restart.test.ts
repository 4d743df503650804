import { expect, test } from "vitest";
import { makeContext } from "../../testing/upkeep-context.ts";
import { verifyRestart } from "./restart-incident.ts";

const command = () => Promise.reject(new TypeError("not foreseen"));

test("counts an unexpected driver error as a failed start, which rolls the node back", async () => {
  const context = makeContext({
    settings: { restart: { answersWithinMs: 10, healthyWithinMs: 10, metricsWithinMs: 10 } },
    state: { dataEvidence: { get: () => undefined } },
    health: { check: () => Promise.resolve({ answers: 0 }) },
  });
  expect(await verifyRestart({ command }, context)).toEqual({ ok: false, message: "not foreseen" });
});
