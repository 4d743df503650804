import { describe, expect, test } from "vitest";
import { createSettling } from "./settings-source.ts";

/** Whether the files count as settled at each of these checks. */
const judgeLooks = (paths: readonly string[], looks: string) => {
  const isSettled = createSettling(paths);
  return [...looks].map((look) => (isSettled(look) ? "x" : "-")).join("");
};

describe("settings files are read", () => {
  const alone = ["/etc/gatehouse/sidecar.json5", "/etc/gatehouse/token"];
  const apart = ["/run/gatehouse/live/settings.json5", "/run/gatehouse/secrets/token"];

  test("at the second look that finds them the same", () => {
    expect(judgeLooks(alone, "aaabbabbb")).toBe("-xx-x--xx");
  });

  test("where they come apart, once nothing has changed for so long that what belongs together is there", () => {
    expect(judgeLooks(apart, "aaaaabbbbbbbbbbbbb")).toBe("---------------xxx");
    expect(judgeLooks(apart, "aaaaaaaaaaaab")).toBe("----------xx-");
  });
});
