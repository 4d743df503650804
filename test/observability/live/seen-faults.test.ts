import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import { watchdogRules } from "#infra/observability/rules/watchdog.ts";
import type { SeenFault } from "./live-fault.ts";
import { notMade, notTried, printSeenFaults, rejectOtherScale, withSeenFaults } from "./seen-faults.ts";

const verified = readFileSync(join(import.meta.dirname, "README.md"), "utf8");
const groups = [...ruleGroups, watchdogRules];
const alerts = groups.flatMap((group) => group.alerts).map(({ name }) => name);

const seen = (alert: string, firedAfterSeconds: number): SeenFault => ({
  alert,
  what: "a fault",
  firedAfterSeconds,
  resolvedAfterSeconds: 1,
  besides: ["GatehouseConditionFalse"],
});

describe("the table of faults that were made", () => {
  it("has a row for each alert on the page, or says why there is none", () => {
    const reported = (name: string) =>
      verified.includes(`\n| \`${name}\` `) || verified.includes(`\n- \`${name}\`: ${notMade[name]}.`);
    expect(alerts.filter((name) => !reported(name))).toEqual([]);
    expect(verified).not.toContain(notTried);
  });

  it("names no alert that the rules do not have", () => {
    const named = [...verified.matchAll(/^(?:\| |- )`(Gatehouse\w+)`/gm)].map(([, name = ""]) => name);
    expect(named.filter((name) => !alerts.some((alert) => alert === name))).toEqual([]);
  });

  it("keeps the rows of alerts that a run did not try, and replaces those that it did", () => {
    const page = "<!-- alerts: printed -->\n\nnothing\n\n<!-- /alerts -->";
    const first = withSeenFaults(
      page,
      printSeenFaults([seen("GatehouseNodeDown", 5), seen("GatehouseHeadStale", 9)], groups, { scale: 60, page }),
    );
    const second = printSeenFaults([seen("GatehouseNodeDown", 7)], groups, { scale: 60, page: first });
    expect(second).toMatch(/^\| `GatehouseNodeDown` +\| a fault \| 7 s +\| 1 s +\| `ConditionFalse` +\|$/m);
    expect(second).toMatch(/^\| `GatehouseHeadStale` +\| a fault \| 9 s +\| 1 s +\| `ConditionFalse` +\|$/m);
    expect(second).toContain(`- \`GatehouseNodeBehind\`: ${notTried}.`);
  });

  it("is not written at another scale than that of the rows that it keeps", () => {
    const page = printSeenFaults([seen("GatehouseHeadStale", 9)], groups, { scale: 60, page: "" });
    expect(() => rejectOtherScale(page, 30)).toThrow("measured at 1 : 60");
    expect(() => rejectOtherScale(page, 60)).not.toThrow();
    expect(() => rejectOtherScale("a page without a table", 30)).not.toThrow();
    expect(() => rejectOtherScale(verified, 7)).toThrow("--scale 60");
  });
});
