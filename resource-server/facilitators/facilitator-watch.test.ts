import { expect, test } from "vitest";
import { evaluateReadiness } from "#daemon/http/readiness.ts";
import { tolerateLaterFailures } from "./facilitator-watch.ts";

test("a failure is tolerated from the first time on that payments could be judged", () => {
  const followed = tolerateLaterFailures();
  const ready = (ok: boolean) => {
    const check = followed({ ok, message: "m" });
    return [check.ok, evaluateReadiness({ check }).ready];
  };
  expect(ready(false)).toEqual([false, false]);
  expect(ready(true)).toEqual([true, true]);
  expect(ready(false)).toEqual([false, true]);
});
