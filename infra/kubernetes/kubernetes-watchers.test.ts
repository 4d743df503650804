import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { buildStackOutputs } from "../stack-outputs.ts";
import { parseConfig } from "../stack-config.ts";
import { recordStack, findManifest, listManifests, type Manifest } from "../testing/deployed-stack.ts";
import { expectGolden } from "../testing/golden.ts";
import type { Recorded } from "../testing/recording-mocks.ts";
import { findSchemaViolations } from "../testing/kubernetes-schema.ts";
import { findUnknownFields } from "../testing/strict-schema.ts";
import { devnet, onKubernetes } from "../testing/stack-configs.ts";

const config = {
  ...onKubernetes,
  ...devnet,
  databaseUrl: "postgresql://gatehouse:hidden-password@db.example:6432/gatehouse",
  facilitatorReplicas: '{"min": 2, "max": 3}',
  observability: JSON.stringify({ prometheus: {}, alertmanager: {}, grafana: {} }),
};
const labelled = (service: string) => ({
  relabel_configs: [{ target_label: "gatehouse", replacement: service }],
});
const isTheirs = ({ metadata }: Manifest) => /^(prometheus|alertmanager|grafana)|-pods$/.test(metadata.name);

describe("a Kubernetes stack with its own Prometheus, Alertmanager and Grafana", () => {
  let recorded: readonly Recorded[] = [];
  let manifests: readonly Manifest[] = [];
  const theirs = () => manifests.filter(isTheirs);
  beforeAll(async () => {
    recorded = await recordStack(config, { preview: false });
    manifests = listManifests(recorded);
  });

  it("matches the golden files", async () => {
    await expectGolden("watchers", theirs());
  });

  it("matches the published schemas without unknown fields", async () => {
    expect(await findSchemaViolations(theirs())).toEqual([]);
    expect(findUnknownFields(theirs())).toEqual([]);
  });

  it("admits Prometheus only to metrics ports, and only Grafana to Prometheus", () => {
    const from = (pod: string, source: string) =>
      (findManifest(manifests, "NetworkPolicy", pod).spec["ingress"] as readonly Record<string, unknown>[])
        .filter((rule) => JSON.stringify(rule["from"] ?? "").includes(`"${source}"`))
        .map((rule) => (rule["ports"] as readonly { port: number }[]).map(({ port }) => port));
    const services = ["node", "facilitator", "resource-server", "pushgateway"];
    expect(services.map((name) => from(name, "prometheus"))).toEqual([[[9_600]], [[9_602]], [[9_601]], [[9_091]]]);
    expect(from("prometheus", "grafana")).toEqual([[9_090]]);
    expect(from("alertmanager", "prometheus")).toEqual([[9_093]]);
    expect(findManifest(manifests, "NetworkPolicy", "prometheus").spec["ingress"]).toHaveLength(1);
    expect(findManifest(manifests, "NetworkPolicy", "grafana").spec["ingress"]).toEqual([]);
  });

  it("scrapes every pod of each service, ready or not", () => {
    const { inputs } = recorded.find(({ name }) => name === "gh-prometheus-files") ?? { inputs: {} };
    const text = /"prometheus\.yaml":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(inputs))?.[1] ?? '""';
    const { scrape_configs: jobs } = parse(JSON.parse(text) as string) as { scrape_configs: unknown };
    expect(jobs).toEqual([
      { job_name: "gh/sidecar", static_configs: [{ targets: ["sidecar-status:9600"] }], ...labelled("sidecar") },
      {
        job_name: "gh/pushgateway",
        honor_labels: true,
        static_configs: [{ targets: ["pushgateway-pods:9091"] }],
        ...labelled("pushgateway"),
      },
      {
        job_name: "gh/facilitator",
        dns_sd_configs: [{ names: ["facilitator-pods"], type: "A", port: 9_602, refresh_interval: "30s" }],
        ...labelled("facilitator"),
      },
      {
        job_name: "gh/resource-server",
        static_configs: [{ targets: ["resource-server-pods:9601"] }],
        ...labelled("resource-server"),
      },
    ]);
    for (const [name, port] of Object.entries({ facilitator: 9_602, "resource-server": 9_601, pushgateway: 9_091 })) {
      expect(findManifest(manifests, "Service", `${name}-pods`).spec).toMatchObject({
        clusterIP: "None",
        publishNotReadyAddresses: true,
        ports: [{ port }],
      });
    }
    expect(findManifest(manifests, "Service", "sidecar-status").spec).toMatchObject({
      publishNotReadyAddresses: true,
    });
  });

  it("publishes none of them, and reports their cluster URLs", () => {
    const services = theirs().filter(({ kind }) => kind === "Service");
    expect(services.map(({ spec }) => spec["type"])).toEqual(Array.from({ length: 6 }, () => "ClusterIP"));
    expect(manifests.filter(({ kind }) => kind === "Ingress" || kind === "HTTPRoute")).toEqual([]);
    expect(buildStackOutputs(parseConfig(config)).urls.operations).toMatchObject({
      prometheus: "http://prometheus:9090",
      alertmanager: "http://alertmanager:9093",
      grafana: "http://grafana:3000",
    });
  });
});
