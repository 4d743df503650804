import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { buildServices } from "#infra/services/built-stack.ts";
import { filesDirectory } from "#infra/services/service-spec.ts";
import { describeTarget } from "#infra/services/stack-context.ts";
import { parseConfig } from "#infra/stack-config.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { hasPromtool, runPromtool, runProgram, withoutPromtool } from "../support/prometheus/promtool.ts";

const rules = join(import.meta.dirname, "../../infra/observability/rules");
const hasAmtool = spawnSync("amtool", ["--version"]).status === 0;

const secret = (text: string) => ({ kind: "secret", check: text, value: text }) as const;

type WatcherName = "prometheus" | "alertmanager" | "grafana";

/** Builds the specifications of a stack's monitoring services. */
function specsOf(more: Readonly<Record<string, string>> = {}, replicas = 1) {
  const config = parseConfig({
    devAccounts: "true",
    tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
    observability: JSON.stringify({ prometheus: {}, alertmanager: {}, grafana: {} }),
    ...more,
  });
  const replicatedConfig = { ...config, facilitatorReplicas: { min: replicas, max: replicas } };
  const built = buildServices(replicatedConfig, { prefix: "gh", ...describeTarget(config, "gh"), secret });
  return (name: WatcherName) => built[name]?.spec;
}

/** Returns the files of one of the services, as delivered. */
function filesOf(name: WatcherName, more?: Readonly<Record<string, string>>, replicas?: number) {
  const files = specsOf(more, replicas)(name)?.files ?? [];
  return Object.fromEntries(files.map((file) => [file.name, String(file.content)]));
}

describe.skipIf(!hasPromtool)(`the configuration of a stack's own Prometheus${withoutPromtool}`, () => {
  it.each([1, 3])("passes promtool with its rules, with %d replicas", (replicas) => {
    const checked = runPromtool(["check", "config", "prometheus.yaml"], filesOf("prometheus", {}, replicas));
    expect(checked.output).toMatch(/SUCCESS: prometheus\.yaml is valid[\s\S]*SUCCESS: \d+ rules found/);
    expect(checked.status).toBe(0);
  });

  it("has the watchdog alert only if requested", () => {
    const watchdog = { prometheus: {}, alertmanager: { watchdog: true } };
    const observability = JSON.stringify(watchdog);
    const files = filesOf("prometheus", { observability });
    expect(filesOf("prometheus")["rules.yaml"]).not.toContain("Watchdog");
    const test = stringify({
      rule_files: ["rules.yaml"],
      tests: [
        {
          interval: "1m",
          input_series: [],
          promql_expr_test: [{ expr: "count(ALERTS)", eval_time: "5m", exp_samples: [{ labels: "{}", value: 1 }] }],
        },
      ],
    });
    const { status, output } = runPromtool(["test", "rules", "test.yaml"], { ...files, "test.yaml": test });
    expect([status, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });

  it("fails promtool with a misspelt field", () => {
    const files = filesOf("prometheus");
    const misspelt = { ...files, "prometheus.yaml": files["prometheus.yaml"]?.replace("job_name", "jobname") ?? "" };
    expect(runPromtool(["check", "config", "prometheus.yaml"], misspelt).status).toBe(1);
  });
});

const relabelling: unknown = parse(readFileSync(join(rules, "pod-relabelling.yaml"), "utf8"));

describe.skipIf(!hasPromtool)(`the relabelling of annotated pods${withoutPromtool}`, () => {
  /** Pods as Kubernetes discovery reports them to a scrape job that all of them share. */
  const pods: readonly (readonly [namespace: string, name: string, component: string])[] = [
    ["gatehouse", "gatehouse", "node"],
    ["staging", "gatehouse", "facilitator"],
    ["shop", "checkout", "facilitator"],
  ];
  const config = {
    scrape_configs: [
      {
        job_name: "kubernetes-pods",
        static_configs: pods.map(([namespace, name, component], index) => ({
          targets: [`10.0.0.${index + 1}:9600`],
          labels: {
            __meta_kubernetes_namespace: namespace,
            __meta_kubernetes_pod_label_app_kubernetes_io_name: name,
            __meta_kubernetes_pod_label_app_kubernetes_io_component: component,
          },
        })),
        ...(relabelling as object),
      },
    ],
  };

  it("gives each service of each stack its own job and label, and ignores other pods", () => {
    const args = ["check", "service-discovery", "--timeout=2s", "prometheus.yaml", "kubernetes-pods"];
    const { status, output } = runPromtool(args, { "prometheus.yaml": stringify(config) });
    expect(status, output).toBe(0);
    const found = JSON.parse(output.slice(output.indexOf("["))) as readonly { labels: Record<string, string> }[];
    const jobs = found.map(({ labels: { job, gatehouse } }) => [job, gatehouse]);
    expect(jobs.toSorted()).toEqual([
      ["gatehouse/sidecar", "sidecar"],
      ["kubernetes-pods", undefined],
      ["staging/facilitator", "facilitator"],
    ]);
  });

  it("matches docs/observability.md", () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/observability.md"), "utf8");
    const [, block = ""] = /```yaml\n(relabel_configs:[^`]*)```/.exec(page) ?? [];
    expect(parse(block)).toEqual(relabelling);
  });
});

describe.skipIf(!hasAmtool)(
  `the configuration of a stack's own Alertmanager${hasAmtool ? "" : " (skipped: amtool is not on PATH)"}`,
  () => {
    const receivers = [
      "route: { receiver: pager, group_by: [alertname, job] }",
      "receivers: [{ name: pager, webhook_configs: [{ url: 'https://pager.example/token' }] }]",
    ].join("\n");

    it.each([
      ["without receivers", {}],
      ["with the operator's receivers", { alertmanagerConfig: receivers }],
    ])("passes amtool %s", (_, more) => {
      const checked = runProgram("amtool", ["check-config", "alertmanager.yaml"], filesOf("alertmanager", more));
      expect(checked.output).toMatch(/SUCCESS[\s\S]*1 receivers/);
      expect(checked.status).toBe(0);
    });
  },
);

/** Programs of the official images, by their names on Debian. */
const programs = { prometheus: "prometheus", alertmanager: "prometheus-alertmanager" } as const;

describe.skipIf(!hasPromtool || !hasAmtool)("the installed monitoring binaries", () => {
  it.each(["prometheus", "alertmanager"] as const)("%s starts with its deployed arguments and files", async (name) => {
    const folder = await makeTestDirectory();
    const [port = 0] = await findFreePorts(1);
    const files = filesOf(name);
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text, { mode: 0o400 });
    const args = (specsOf()(name)?.arguments ?? []).map((argument) =>
      argument
        .replace(filesDirectory, folder)
        .replace(/(?<=path=)\/\w+$/, join(folder, "data"))
        .replace(/(?<=web\.listen-address=):\d+$/, `127.0.0.1:${port}`),
    );
    const child = spawn(programs[name], args, { stdio: ["ignore", "ignore", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let printed = "";
    child.stderr.on("data", (chunk: Buffer) => (printed += String(chunk)));
    const response = await until(`${name} is ready`, generousMs, async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${printed}`);
      const asked = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined);
      return asked?.ok === true && asked;
    });
    expect(response.status).toBe(200);
  });
});
