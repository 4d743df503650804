import { z } from "zod";
import { getJson } from "#daemon/http/get.ts";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { checkLimits } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";

const look = createFindings("prometheus");

const targets = z.object({
  data: z.object({
    activeTargets: z.array(
      z.object({
        labels: z.record(z.string(), z.string()),
        health: z.string(),
        lastError: z.string(),
        scrapeUrl: z.string(),
      }),
    ),
  }),
});
const alerting = z.object({
  type: z.string(),
  name: z.string(),
  state: z.string().optional(),
  health: z.string(),
  lastError: z.string().optional(),
  alerts: z.array(z.object({ state: z.string(), annotations: z.record(z.string(), z.string()) })).optional(),
});
const rules = z.object({ data: z.object({ groups: z.array(z.object({ rules: z.array(alerting) })) }) });

/** Prefix of the names of Gatehouse's alerts. */
const ours = "Gatehouse";

/** Checks that Prometheus scrapes the services and has the alerts, and reports those that fire. */
export const prometheusCheck: Check = async ({ prometheusUrl: url }) => {
  if (url === undefined)
    return [look("Prometheus", "skipped", "nobody named one; --prometheus http://127.0.0.1:9090 has it looked at")];
  const place = url.endsWith("/") ? url : `${url}/`;
  const shown = maskCredentials(url);
  const [targetsGot, rulesGot] = await Promise.all(
    ["api/v1/targets?state=active", "api/v1/rules?type=alert"].map((path) =>
      getJson(new URL(path, place).href, checkLimits),
    ),
  );
  if (targetsGot?.ok !== true || rulesGot?.ok !== true) {
    const why = [targetsGot, rulesGot].flatMap((got) => (got === undefined || got.ok ? [] : [got.why]))[0] ?? "unknown";
    return [
      look(
        "Prometheus",
        "unknown",
        `${shown} can't be queried (${why}); does it run, and can it be reached from here?`,
      ),
    ];
  }
  const [scraped, judged] = [targets.safeParse(targetsGot.body), rules.safeParse(rulesGot.body)];
  if (!scraped.success || !judged.success) {
    return [
      look(
        "Prometheus",
        "unknown",
        `${shown} answers HTTP ${targetsGot.status}, and not as Prometheus does; is the URL right?`,
      ),
    ];
  }
  return [...checkScrapes(scraped.data, shown), ...checkAlerts(judged.data, shown)];
};

/** Targets whose job looks like a service of Gatehouse: `<stack>/<service>`. */
const ourJob = /(^|\/)(sidecar|gateway|facilitator|resource-server|pushgateway)$/;

function checkScrapes({ data }: z.output<typeof targets>, shown: string): readonly Finding[] {
  const found = data.activeTargets.filter(({ labels }) => ourJob.test(labels["job"] ?? ""));
  if (found.length === 0)
    return [
      look(
        "Prometheus",
        "wrong",
        `${shown} scrapes no service of Gatehouse; docs/observability.md says how to add them`,
      ),
    ];
  const down = found.filter(({ health }) => health !== "up");
  if (down.length === 0)
    return [look("Prometheus", "right", `${shown} scrapes ${found.length} targets, all of them up`)];
  return down.map(({ labels, lastError, scrapeUrl, health }) =>
    look(
      "Prometheus",
      health === "unknown" ? "unknown" : "wrong",
      `the target ${scrapeUrl} of ${labels["job"]} is ${health}${lastError === "" ? "" : `: ${lastError}`}`,
    ),
  );
}

function checkAlerts({ data }: z.output<typeof rules>, shown: string): readonly Finding[] {
  const found = data.groups.flatMap((group) => group.rules).filter(({ name }) => name.startsWith(ours));
  if (found.length === 0)
    return [
      look(
        "Prometheus",
        "wrong",
        `${shown} has none of Gatehouse's alerts; load infra/observability/generated/prometheus-rules.yaml (docs/observability.md)`,
      ),
    ];
  const broken = found.filter(({ health }) => health === "err");
  const firing = found.flatMap(({ name, alerts: active = [] }) =>
    active
      .filter(({ state }) => state === "firing")
      .map(({ annotations }) =>
        look(
          "Prometheus",
          "wrong",
          `${name} fires: ${annotations["summary"] ?? "no summary"}${formatRunbook(annotations)}`,
        ),
      ),
  );
  const failing = broken.map(({ name, lastError }) =>
    look("Prometheus", "wrong", `the rule ${name} can't be judged: ${lastError ?? "unknown"}`),
  );
  if (firing.length + failing.length > 0) return [...failing, ...firing];
  return [look("Prometheus", "right", `${shown} has ${found.length} alerts, and none fires`)];
}

function formatRunbook(annotations: Readonly<Record<string, string>>): string {
  const url = annotations["runbook_url"];
  return url === undefined ? "" : ` (${url})`;
}
