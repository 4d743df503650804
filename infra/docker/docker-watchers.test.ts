import { beforeAll, describe, expect, it } from "vitest";
import { runtime } from "@pulumi/pulumi";
import { parse } from "yaml";
import { buildGrafanaOutput, buildStackOutputs } from "../stack-outputs.ts";
import { parseConfig } from "../stack-config.ts";
import { findContainer, listContainers, recordStack } from "../testing/deployed-stack.ts";
import type { Recorded } from "../testing/recording-mocks.ts";
import { devnet, onDocker } from "../testing/stack-configs.ts";

const config = { ...onDocker, ...devnet };
const brought = {
  ...config,
  observability: JSON.stringify({
    runbookBaseUrl: "https://git.example/runbooks",
    prometheus: { retentionDays: 30, volumeGibibytes: 20, port: 19_090 },
    alertmanager: {},
    grafana: {},
  }),
};
const receivers = `
route: { receiver: pager }
receivers: [{ name: pager, webhook_configs: [{ url: "https://pager.example/hidden-token" }] }]
`;
const scrapeOf = (service: string, port: number) => ({
  job_name: `gh/${service}`,
  static_configs: [{ targets: [`${service}:${port}`] }],
  relabel_configs: [{ target_label: "gatehouse", replacement: service }],
});
const watchers = ["prometheus", "alertmanager", "grafana"];

type Uploads = Readonly<{ value: readonly Readonly<{ file: string; content: unknown }>[] }>;

function uploaded(recorded: readonly Recorded[], service: string, file: string): string {
  const given = findContainer(recorded, `${service}-files`)["uploads"];
  const uploads = given as Uploads & Record<string, unknown>;
  const list =
    uploads[runtime.specialSigKey] === runtime.specialSecretSig ? uploads.value : (given as Uploads["value"]);
  const [first] = list;
  if (first?.file.endsWith("/files.json") === true) {
    return String((JSON.parse(String(first.content)) as Record<string, unknown>)[file]);
  }
  return String(list.find((upload) => upload.file.endsWith(`/${file}`))?.content);
}

describe("a Docker stack with its own Prometheus, Alertmanager and Grafana", () => {
  let recorded: readonly Recorded[] = [];
  beforeAll(async () => {
    recorded = await recordStack(brought, { preview: false });
  });

  it("runs none of them unless configured", async () => {
    const plain = await recordStack(config, { preview: false });
    expect(listContainers(plain).filter(({ name }) => watchers.some((one) => name.includes(one)))).toEqual([]);
    expect(buildGrafanaOutput(parseConfig(config), { prefix: "gh", secret: asPlain })).toBeUndefined();
  });

  it("publishes them only on loopback, confined like every other service", () => {
    const places = watchers.map((name) => {
      const { ports, readOnly, capabilities, networksAdvanced } = findContainer(recorded, name);
      expect({ readOnly, capabilities }).toEqual({ readOnly: true, capabilities: { drops: ["ALL"] } });
      expect(networksAdvanced).toHaveLength(2);
      return ports;
    });
    expect(places).toEqual([
      [{ internal: 9_090, external: 19_090, ip: "127.0.0.1", protocol: "tcp" }],
      [{ internal: 9_093, external: 9_093, ip: "127.0.0.1", protocol: "tcp" }],
      [{ internal: 3_000, external: 3_001, ip: "127.0.0.1", protocol: "tcp" }],
    ]);
    expect(buildStackOutputs(parseConfig(brought)).urls.operations).toMatchObject({
      prometheus: "http://127.0.0.1:19090",
      alertmanager: "http://127.0.0.1:9093",
      grafana: "http://127.0.0.1:3001",
    });
  });

  it("scrapes each service as its own job and keeps pushed labels", () => {
    const scraped = parse(uploaded(recorded, "prometheus", "prometheus.yaml")) as Record<string, unknown>;
    expect(scraped).toMatchObject({
      global: { scrape_interval: "30s", scrape_timeout: "10s", external_labels: { stack: "gh" } },
      rule_files: ["rules.yaml"],
      alerting: { alertmanagers: [{ static_configs: [{ targets: ["alertmanager:9093"] }] }] },
    });
    expect(scraped["scrape_configs"]).toEqual([
      scrapeOf("sidecar", 9_600),
      { ...scrapeOf("pushgateway", 9_091), honor_labels: true },
      scrapeOf("facilitator", 9_602),
      scrapeOf("resource-server", 9_601),
    ]);
    expect(uploaded(recorded, "prometheus", "rules.yaml")).toContain("https://git.example/runbooks/node-down.md");
  });

  it("limits retention to the configured days and to a size below the volume's", () => {
    const { command, volumes } = findContainer(recorded, "prometheus");
    expect(command).toEqual(
      expect.arrayContaining(["--storage.tsdb.retention.time=30d", "--storage.tsdb.retention.size=16384MB"]),
    );
    expect(volumes).toContainEqual({ volumeName: "gh-prometheus-data", containerPath: "/prometheus", readOnly: false });
  });

  it("provisions Grafana's datasource and dashboards, and derives its admin password from the signer key", () => {
    const { volumes, envs } = findContainer(recorded, "grafana");
    const places = [
      "/run/gatehouse/files",
      "/etc/grafana/provisioning/datasources",
      "/etc/grafana/provisioning/dashboards",
    ];
    expect(volumes).toEqual([
      { volumeName: "gh-grafana-data", containerPath: "/var/lib/grafana", readOnly: false },
      ...places.map((containerPath) => ({ volumeName: "gh-grafana-files", containerPath, readOnly: true })),
    ]);
    expect(uploaded(recorded, "grafana", "datasource.yaml")).toContain("http://prometheus:9090");
    expect(parse(uploaded(recorded, "grafana", "datasource.yaml"))).toMatchObject({
      datasources: [{ jsonData: { timeInterval: "30s" } }],
    });
    expect(JSON.parse(uploaded(recorded, "grafana", "gatehouse-overview.json"))).toMatchObject({
      uid: "gatehouse-overview",
    });
    const password = uploaded(recorded, "grafana", "admin-password");
    expect(password).toMatch(/^[\w-]{32}$/);
    expect(JSON.stringify(envs)).not.toContain(password);
    const given = parseConfig(brought);
    expect(buildGrafanaOutput(given, { prefix: "gh", secret: asPlain })).toEqual({ user: "admin", password });
    expect(buildGrafanaOutput(given, { prefix: "other", secret: asPlain })?.password).not.toBe(password);
    const own = parseConfig({ ...brought, grafanaPassword: "a password of the operator's own" });
    expect(buildGrafanaOutput(own, { prefix: "gh", secret: asPlain })?.password).toBe(
      "a password of the operator's own",
    );
  });

  it("delivers alertmanagerConfig as a secret file", async () => {
    const stack = await recordStack({ ...brought, alertmanagerConfig: receivers }, { preview: false });
    expect(uploaded(stack, "alertmanager", "alertmanager.yaml")).toBe(receivers);
    const uploads = findContainer(stack, "alertmanager-files")["uploads"] as Record<string, unknown>;
    expect(uploads[runtime.specialSigKey]).toBe(runtime.specialSecretSig);
  });
});

function asPlain(text: string) {
  return { kind: "secret", check: text, value: text } as const;
}
