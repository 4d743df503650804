import { expect, test } from "vitest";
import type { ActiveAlert } from "../../support/prometheus/prometheus.ts";
import { printQuietHour, seeQuietHour, withQuietHour } from "./quiet-hour.ts";

/** An hour of a second. */
const scale = 3_600;
const up = { metric: {}, value: [0, "1"] } as const;
const alert = (state: ActiveAlert["state"]): ActiveAlert => ({
  state,
  labels: { alertname: "GatehouseNodeDown" },
  annotations: {},
});

/** A Prometheus that has these alerts at its looks, one after the other, and at the end what it had last. */
function prometheusWith(looks: readonly (readonly ActiveAlert[])[], scraped = [up]) {
  let at = 0;
  const alerts = async () => looks[Math.min(at++, looks.length - 1)] ?? [];
  return { prometheus: { alerts, query: async () => scraped } };
}

test("an hour in which nothing fires is reported with what was pending meanwhile", async () => {
  const seen = await seeQuietHour(prometheusWith([[alert("firing")], [], [alert("pending")], []]), scale);
  expect(seen.pendingMeanwhile).toEqual(["GatehouseNodeDown"]);
  expect(printQuietHour(seen, 31)).toMatch(
    /^Scale 1 : 3600, \d+(\.\d)? s, \d looks at 31 alerts\. No alert fired, .* gone again: `GatehouseNodeDown`\.$/,
  );
});

test.each([
  ["an alert that fires", [[], [alert("firing")]], [up], "GatehouseNodeDown fires at rest"],
  ["an alert that is pending at the end", [[], [alert("pending")]], [up], "pending at the end"],
  ["a Prometheus that scraped nothing", [[]], [], "nothing was scraped"],
])("%s fails it", async (_, looks, scraped, said) => {
  await expect(seeQuietHour(prometheusWith(looks, scraped), scale)).rejects.toThrow(said);
});

test("a page has its paragraph between comments, and one without them is refused", () => {
  const page = "a\n<!-- quiet-hour: x -->\n\nold\n\n<!-- /quiet-hour -->\nb";
  expect(withQuietHour(page, "new")).toBe(page.replace("old", "new"));
  expect(() => withQuietHour("a", "new")).toThrow("quiet-hour");
});
