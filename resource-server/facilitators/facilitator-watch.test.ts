import { expect, test } from "vitest";
import { evaluateReadiness } from "#daemon/http/readiness.ts";
import { tolerateLaterFailures } from "./facilitator-watch.ts";

test("tolerates failures only after the first successful check", () => {
  const followed = tolerateLaterFailures();
  const ready = (ok: boolean) => {
    const check = followed({ ok, message: "m" });
    return [check.ok, evaluateReadiness({ check }).ready];
  };
  expect(ready(false)).toEqual([false, false]);
  expect(ready(true)).toEqual([true, true]);
  expect(ready(false)).toEqual([false, true]);
});
