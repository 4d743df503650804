import { expect, it } from "vitest";
import { runGatehouse } from "../../support/run-command.ts";
import type { RunningStack } from "../../support/running-stack.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

type Answer<Data> = Readonly<{ data: Data }>;
type Targets = Readonly<{ activeTargets: readonly Readonly<{ labels: Record<string, string>; health: string }>[] }>;
type Alerts = Readonly<{ alerts: readonly unknown[] }>;
type Rules = Readonly<{
  groups: readonly Readonly<{ rules: readonly Readonly<{ health: string; lastError?: string }>[] }>[];
}>;

async function ask<Data>(url: string): Promise<Data> {
  const response = await fetch(url, { signal: AbortSignal.timeout(generousMs) });
  return ((await response.json()) as Answer<Data>).data;
}

export function testObserve(running: () => RunningStack, prometheusUrl: () => string): void {
  it("scrapes every service and evaluates all rules", async () => {
    const [stack, url] = [running(), prometheusUrl()];
    const link = stack.output().match(/http:\S+\/alerts/)?.[0] ?? "";
    expect(link).toContain(`${url}/`);
    expect((await fetch(link)).status).toBe(200);
    const healthy = await until("all targets are scraped", 60_000, async () => {
      const { activeTargets } = await ask<Targets>(`${url}/api/v1/targets`);
      return activeTargets.length === 4 && activeTargets.every(({ health }) => health === "up") && activeTargets;
    });
    expect(healthy.map(({ labels }) => labels["job"]).toSorted()).toEqual([
      "gatehouse/facilitator",
      "gatehouse/pushgateway",
      "gatehouse/resource-server",
      "gatehouse/sidecar",
    ]);
    const judged = await until("all rules are evaluated", 60_000, async () => {
      const rules = (await ask<Rules>(`${url}/api/v1/rules`)).groups.flatMap((group) => group.rules);
      return rules.every(({ health }) => health !== "unknown") && rules;
    });
    expect(judged.length).toBeGreaterThan(30);
    expect(judged.filter(({ health }) => health !== "ok")).toEqual([]);
    await until("no alert is pending or firing", generousMs, async () => {
      return (await ask<Alerts>(`${url}/api/v1/alerts`)).alerts.length === 0;
    });
    const { sidecar, facilitatorOperations, resourceServerOperations } = stack.ports;
    const ports = { sidecar, facilitator: facilitatorOperations, "resource-server": resourceServerOperations };
    const urls = Object.entries(ports).flatMap(([name, port]) => ["--url", `${name}=http://127.0.0.1:${port}`]);
    const found = await until("the doctor finds nothing wrong", generousMs, async () => {
      const { status, stdout } = await runGatehouse(["doctor", ...urls]);
      return status === 0 && stdout;
    });
    expect(found).toMatch(/ok: signer: facilitator: its signer: /);
    expect(found).not.toMatch(/^(wrong|unknown): /m);
  });
}
