import { describe, expect, test } from "vitest";
import { createStabilityCheck } from "./settings-source.ts";

/** Whether the files count as settled at each of these checks. */
const judgeChecks = (paths: readonly string[], checks: string) => {
  const isSettled = createStabilityCheck(paths);
  return [...checks].map((state) => (isSettled(state) ? "x" : "-")).join("");
};

describe("settings files are read", () => {
  const alone = ["/etc/gatehouse/sidecar.json5", "/etc/gatehouse/token"];
  const apart = ["/run/gatehouse/live/settings.json5", "/run/gatehouse/secrets/token"];

  test("at the second identical check", () => {
    expect(judgeChecks(alone, "aaabbabbb")).toBe("-xx-x--xx");
  });

  test("if stored separately, once unchanged long enough for related files to arrive", () => {
    expect(judgeChecks(apart, "aaaaabbbbbbbbbbbbb")).toBe("---------------xxx");
    expect(judgeChecks(apart, "aaaaaaaaaaaab")).toBe("----------xx-");
  });
});
