import { expect, test } from "vitest";
import { evaluateReadiness } from "#daemon/http/readiness.ts";
import { tolerateLaterFailures } from "./facilitator-watch.ts";

test("tolerates failures only after the first successful check", () => {
  const trackFailures = tolerateLaterFailures();
  const checkReadiness = (ok: boolean) => {
    const check = trackFailures({ ok, message: "m" });
    return [check.ok, evaluateReadiness({ check }).ready];
  };
  expect(checkReadiness(false)).toEqual([false, false]);
  expect(checkReadiness(true)).toEqual([true, true]);
  expect(checkReadiness(false)).toEqual([false, true]);
});
