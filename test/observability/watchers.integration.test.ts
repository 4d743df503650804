import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { buildWatchers } from "#infra/components/watchers.ts";
import { dockerAddresses } from "#infra/services/addresses.ts";
import { facilitatorSpec } from "#infra/services/facilitator-spec.ts";
import { pushgatewaySpec } from "#infra/services/pushgateway-spec.ts";
import type { ServiceName } from "#infra/services/service-spec.ts";
import { sidecarSpec } from "#infra/services/sidecar-spec.ts";
import { stackArgs } from "#infra/services/stack-specs.ts";
import { parseConfig } from "#infra/stack-config.ts";
import { hasPromtool, runPromtool, runProgram, withoutPromtool } from "./promtool.ts";

const hasAmtool = spawnSync("amtool", ["--version"]).status === 0;

const secret = (text: string) => ({ kind: "secret", check: text, value: text }) as const;

/** The files of what watches a stack, as they are delivered. */
function filesOf(more: Readonly<Record<string, string>> = {}, replicas = 1) {
  const config = parseConfig({
    devAccounts: "true",
    tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
    observability: JSON.stringify({ prometheus: {}, alertmanager: {}, grafana: {} }),
    ...more,
  });
  const restart = { driver: "docker", container: "gh-node", exec: "docker exec gh-sidecar" } as const;
  const args = stackArgs(config, { prefix: "gh", addresses: dockerAddresses, restart, secret });
  const facilitator = facilitatorSpec({ ...args.facilitator, replicas: { min: replicas, max: replicas } });
  const services = [sidecarSpec(args.sidecar).spec, facilitator.spec, pushgatewaySpec({}).spec];
  const built = buildWatchers(args.observability, services);
  return (name: Extract<ServiceName, keyof typeof built>) =>
    Object.fromEntries((built[name]?.spec.files ?? []).map((file) => [file.name, String(file.content)]));
}

describe.skipIf(!hasPromtool)(`what configures a stack's own Prometheus${withoutPromtool}`, () => {
  it.each([1, 3])("is a configuration with rules that promtool takes, with %d replicas", (replicas) => {
    const checked = runPromtool(["check", "config", "prometheus.yaml"], filesOf({}, replicas)("prometheus"));
    expect(checked.output).toMatch(/SUCCESS: prometheus\.yaml is valid[\s\S]*SUCCESS: \d+ rules found/);
    expect(checked.status).toBe(0);
  });

  it("is judged by more than its own word: promtool refuses a misspelt field", () => {
    const files = filesOf()("prometheus");
    const misspelt = { ...files, "prometheus.yaml": files["prometheus.yaml"]?.replace("job_name", "jobname") ?? "" };
    expect(runPromtool(["check", "config", "prometheus.yaml"], misspelt).status).toBe(1);
  });
});

describe.skipIf(!hasAmtool)(
  `what configures a stack's own Alertmanager${hasAmtool ? "" : " (skipped: amtool is not on PATH)"}`,
  () => {
    const receivers = [
      "route: { receiver: pager, group_by: [alertname, job] }",
      "receivers: [{ name: pager, webhook_configs: [{ url: 'https://pager.example/token' }] }]",
    ].join("\n");

    it.each([
      ["without receivers", {}],
      ["with the user's own", { alertmanagerConfig: receivers }],
    ])("is a configuration that amtool takes, %s", (_, more) => {
      const checked = runProgram("amtool", ["check-config", "alertmanager.yaml"], filesOf(more)("alertmanager"));
      expect(checked.output).toMatch(/SUCCESS[\s\S]*1 receivers/);
      expect(checked.status).toBe(0);
    });
  },
);
