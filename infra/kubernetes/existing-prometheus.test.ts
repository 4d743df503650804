import { beforeAll, describe, expect, it } from "vitest";
import { readRuleGroups } from "../observability/rules.ts";
import { recordStack, findManifest, listManifests, type Manifest } from "../testing/deployed-stack.ts";
import { expectGolden } from "../testing/golden.ts";
import { findSchemaViolations } from "../testing/kubernetes-schema.ts";
import { findUnknownFields } from "../testing/strict-schema.ts";
import { devnet, onKubernetes } from "../testing/stack-configs.ts";

const config = { ...onKubernetes, ...devnet };
const existing = {
  namespace: "monitoring",
  podLabels: { "app.kubernetes.io/name": "prometheus" },
  labels: { release: "kube-prometheus-stack" },
};
const observability = { runbookBaseUrl: "https://git.example/runbooks", existing };
const watched = (change: object = {}) => ({
  ...config,
  observability: JSON.stringify({ ...observability, existing: { ...existing, ...change } }),
});
const deploy = async (given: Readonly<Record<string, string>>) =>
  listManifests(await recordStack(given, { preview: false }));
const isDashboard = ({ kind, metadata }: Manifest) => kind === "ConfigMap" && metadata.name.startsWith("dashboard-");

describe("a stack watched by the cluster's Prometheus", () => {
  let manifests: readonly Manifest[] = [];
  let unwatched: readonly Manifest[] = [];
  const added = () => {
    const before = new Set(unwatched.map((manifest) => JSON.stringify(manifest)));
    return manifests.filter((manifest) => !before.has(JSON.stringify(manifest)));
  };
  beforeAll(async () => {
    manifests = await deploy(watched());
    unwatched = await deploy(config);
  });

  it("besides rules and dashboards, adds only the golden objects", async () => {
    await expectGolden(
      "watched",
      added().filter((manifest) => manifest.kind !== "PrometheusRule" && !isDashboard(manifest)),
    );
  });

  it("adds a PrometheusRule with the labels that the ruleSelector requires", () => {
    const { metadata, spec } = findManifest(manifests, "PrometheusRule", "gatehouse");
    expect(metadata).toMatchObject({ namespace: "gatehouse", labels: { release: "kube-prometheus-stack" } });
    expect(spec).toEqual({ groups: readRuleGroups({ runbookBaseUrl: "https://git.example/runbooks" }) });
  });

  it("matches the published schemas without unknown fields", async () => {
    expect(await findSchemaViolations(added())).toEqual([]);
    const misspelt = structuredClone(findManifest(manifests, "PodMonitor", "facilitator"));
    Object.assign((misspelt.spec["podMetricsEndpoints"] as object[])[0] ?? {}, { honourLabels: true });
    expect(findUnknownFields([...added(), misspelt])).toEqual([
      `PodMonitor facilitator: Object literal may only specify known properties, and '"honourLabels"' does not exist in type 'IPodMetricsEndpoint'.`,
    ]);
  });

  it("monitors an existing container port of each pod", () => {
    const monitors = manifests.filter(({ kind }) => kind === "PodMonitor");
    expect(monitors.map(({ metadata }) => metadata.name)).toEqual([
      "facilitator",
      "pushgateway",
      "resource-server",
      "sidecar",
    ]);
    for (const { metadata, spec } of monitors) {
      const [{ port } = { port: "" }] = spec["podMetricsEndpoints"] as readonly Readonly<{ port: string }>[];
      const [kind, name] = metadata.name === "sidecar" ? ["StatefulSet", "node"] : ["Deployment", metadata.name];
      const template = findManifest(manifests, kind ?? "", name ?? "").spec["template"] as Readonly<{
        metadata: { labels: Record<string, string> };
        spec: Record<"containers" | "initContainers", readonly { ports?: readonly { name: string }[] }[]>;
      }>;
      const { containers, initContainers } = template.spec;
      const ports = [...containers, ...initContainers].flatMap((container) => container.ports ?? []);
      expect(ports.filter((one) => one.name === port)).toHaveLength(1);
      const { matchLabels } = spec["selector"] as { matchLabels: object };
      expect(template.metadata.labels).toMatchObject(matchLabels);
    }
  });

  it("adds each dashboard as a ConfigMap for Grafana's sidecar, with the operator's runbooks", () => {
    const maps = manifests.filter(isDashboard);
    expect(maps.map(({ metadata }) => metadata.name)).toEqual([
      "dashboard-gatehouse-gateway",
      "dashboard-gatehouse-node",
      "dashboard-gatehouse-overview",
      "dashboard-gatehouse-payments",
    ]);
    for (const { metadata, data = {} } of maps) {
      expect(metadata).toMatchObject({ labels: { grafana_dashboard: "1" } });
      const [text = ""] = Object.values(data);
      expect(JSON.parse(text)).toMatchObject({ uid: metadata.name.replace("dashboard-", "") });
      expect(text).toContain("https://git.example/runbooks/");
      expect(text.length).toBeLessThan(200_000);
    }
  });

  it("omits rules and dashboards when disabled", async () => {
    const fewer = await deploy(watched({ rules: false, dashboards: false }));
    expect(fewer.filter((manifest) => manifest.kind === "PrometheusRule" || isDashboard(manifest))).toEqual([]);
    expect(fewer.filter(({ kind }) => kind === "PodMonitor")).toHaveLength(4);
  });
});

describe("a stack scraped by pod annotations", () => {
  it("annotates each pod with its metrics port, and creates no operator objects", async () => {
    const manifests = await deploy(watched({ by: "annotations" }));
    const annotated = ["node", "facilitator", "resource-server", "pushgateway"].map((name) => {
      const { spec } = findManifest(manifests, name === "node" ? "StatefulSet" : "Deployment", name);
      const { annotations } = (spec["template"] as { metadata: { annotations: Record<string, string> } }).metadata;
      return [name, annotations["prometheus.io/scrape"], annotations["prometheus.io/port"]];
    });
    expect(annotated).toEqual([
      ["node", "true", "9600"],
      ["facilitator", "true", "9602"],
      ["resource-server", "true", "9601"],
      ["pushgateway", "true", "9091"],
    ]);
    const upstream = findManifest(manifests, "Deployment", "upstream");
    expect(JSON.stringify(upstream)).not.toContain("prometheus.io");
    expect(manifests.filter(({ apiVersion }) => apiVersion.startsWith("monitoring."))).toEqual([]);
  });
});
