import { describe, expect, it } from "vitest";
import { bearingOf, type RuleException } from "./exceptions.ts";

const exception: RuleException = {
  rule: "non-root",
  resource: "gh-node",
  reason: "vendor image",
  expires: "2026-12-31",
};
const on = (day: string) => ({ rule: "non-root", resource: "gh-node", today: new Date(`${day}T12:00:00Z`) });

describe("bearingOf", () => {
  it("excuses until the last day, inclusive", () => {
    expect(bearingOf([exception], on("2026-12-31"))).toEqual({ excused: true, note: undefined });
  });

  it("tells that an exception has expired", () => {
    expect(bearingOf([exception], on("2027-01-01"))).toEqual({
      excused: false,
      note: "its exception (vendor image) expired on 2026-12-31",
    });
  });

  it("bears on its own rule and resource only", () => {
    const { today } = on("2026-11-01");
    expect(bearingOf([exception], { rule: "confined", resource: "gh-node", today }).excused).toBe(false);
    expect(bearingOf([exception], { rule: "non-root", resource: "gh-other", today }).excused).toBe(false);
  });

  it.each([
    ["", "2026-12-31"],
    ["vendor image", "next year"],
  ])("does not count with the reason %j and the day %j", (reason, expires) => {
    const { excused, note } = bearingOf([{ ...exception, reason, expires }], on("2026-11-01"));
    expect(excused).toBe(false);
    expect(note).toContain("does not count");
  });
});
