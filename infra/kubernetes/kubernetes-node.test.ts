import { beforeAll, describe, expect, it } from "vitest";
import { expectGolden } from "../testing/golden.ts";
import { recordStack, findManifest, listManifests, type Manifest } from "../testing/deployed-stack.ts";
import { readHotRestartSettings } from "../testing/delivered-settings.ts";
import { findSchemaViolations } from "../testing/kubernetes-schema.ts";
import { findUnknownFields } from "../testing/strict-schema.ts";
import { onKubernetes, realNode } from "../testing/stack-configs.ts";

const config = {
  ...onKubernetes,
  ...realNode,
  peers: "node-port",
  nodeVolumeGibibytes: "750",
  volumeSnapshots: JSON.stringify({ schedule: "0 3 * * *", keep: 3, className: "csi" }),
  volumeGrowth: JSON.stringify({ ceilingGibibytes: 4_000, stepGibibytes: 250 }),
  restore: JSON.stringify({ url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32), strip: 1 }),
  nodeRestart: "signal",
  gatewayApi: JSON.stringify({
    name: "public",
    namespace: "gateways",
    gatewayHost: "rpc.example",
    resourceServerHost: "paid.example",
  }),
};

type Container = Readonly<{
  name: string;
  image: string;
  command?: string[];
  env?: unknown[];
  volumeMounts: unknown[];
  securityContext?: Record<string, unknown>;
}>;
type Template = Readonly<{
  metadata: { annotations: Record<string, string> };
  spec: {
    initContainers: Container[];
    containers: Container[];
    securityContext: Record<string, unknown>;
    volumes: Record<string, unknown>[];
  };
}>;

const template = (manifests: readonly Manifest[], kind: string, name: string) =>
  findManifest(manifests, kind, name).spec["template"] as Template;
const deploy = async (change: Readonly<Record<string, string>> = {}) =>
  listManifests(await recordStack({ ...config, ...change }, { preview: false }));
const seedOf = (manifests: readonly Manifest[]) =>
  template(manifests, "StatefulSet", "node").spec.initContainers.find(({ name }) => name === "seed-node-conf");
const soldAt = (price: string) => ({
  routes: JSON.stringify({
    "GET /x": { accepts: { scheme: "exact", network: "eip155:1672", price }, upstream: "http://x.example" },
  }),
});
const initConfig = (manifests: readonly Manifest[]) => {
  const text = findManifest(manifests, "ConfigMap", "node-conf").data?.["node.conf"] ?? "";
  const { chain } = JSON.parse(text) as { chain: { startup_config: { init_config: Record<string, string> } } };
  return chain.startup_config.init_config;
};

const listChecksums = (all: readonly Manifest[]) =>
  all.flatMap(({ kind, metadata, spec }) => {
    const { metadata: own } = (spec?.["template"] ?? {}) as Partial<Template>;
    return own === undefined ? [] : [`${kind} ${metadata.name} ${own.annotations["gatehouse.io/files"]}`];
  });

/** Deploys with two keys of the signer in turn, and returns the pods whose files differ. */
async function listRestarted(change: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const before = listChecksums(await deploy({ ...change, signerPrivateKey: `0x${"17".repeat(32)}` }));
  const after = listChecksums(await deploy({ ...change, signerPrivateKey: `0x${"18".repeat(32)}` }));
  expect(before).toHaveLength(5);
  return before.filter((pod) => !after.includes(pod)).map((pod) => pod.replace(/ [0-9a-f]{64}$/, ""));
}

let manifests: readonly Manifest[] = [];
let sidecarSettings: unknown;
beforeAll(async () => {
  const recorded = await recordStack(config, { preview: false });
  manifests = listManifests(recorded);
  sidecarSettings = readHotRestartSettings(recorded);
});

describe("a real node on Kubernetes", () => {
  it("matches the golden files", async () => {
    await expectGolden("real-node", manifests, { set: "stack", without: ["Ingress-public.yaml"] });
  });

  it("matches the published schemas without unknown fields", async () => {
    expect(await findSchemaViolations(manifests)).toEqual([]);
    expect(findUnknownFields(manifests)).toEqual([]);
  });

  it("mounts its keys only in the node, from the stack's Secret or an existing one", async () => {
    expect(findManifest(manifests, "Secret", "node-files")).toMatchObject({
      stringData: { "domain.key": "[secret]", "stabilizing.key": "[secret]" },
    });
    const users = (all: readonly Manifest[]) => {
      const { initContainers, containers } = template(all, "StatefulSet", "node").spec;
      return [...initContainers, ...containers]
        .filter(({ volumeMounts }) => JSON.stringify(volumeMounts).includes("node-files"))
        .map(({ name }) => name);
    };
    expect(users(manifests)).toEqual(["node-install-files", "node"]);
    const ready = await deploy({ domainKey: "", stabilizingKey: "", nodeKeysSecret: "vault-made" });
    expect(users(ready)).toEqual(["node-install-files", "node"]);
    expect(template(ready, "StatefulSet", "node").spec.volumes).toContainEqual({
      name: "node-files-incoming",
      secret: {
        secretName: "vault-made",
        items: ["domain.key", "stabilizing.key"].map((name) => ({ key: name, path: name })),
        defaultMode: 0o440,
      },
    });
    expect(ready.filter(({ kind }) => kind === "Secret").map(({ metadata }) => metadata.name)).not.toContain(
      "node-files",
    );
  });

  it("has a sidecar that restarts a hung node and grows its volume", () => {
    expect(sidecarSettings).toMatchObject({
      restart: { hungAfterMs: 900_000 },
      volume: { claim: "node-workspace", ceilingGibibytes: 4_000, stepGibibytes: 250 },
    });
  });

  it("announces the load balancer's address to peers, or the pod's within the cluster", async () => {
    const balanced = await deploy({ peers: "load-balancer", hostIp: "203.0.113.10" });
    expect(seedOf(balanced)?.env).toEqual([{ name: "HOST_IP", value: "203.0.113.10" }]);
    expect(initConfig(balanced)).toMatchObject({ host_ip: "203.0.113.10", tcp_port: "19000" });
    const inner = await deploy({ peers: "none" });
    expect(seedOf(inner)?.env).toEqual([{ name: "HOST_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }]);
  });

  it("restarts only the pods with the signer's key or keys derived from it when it changes, without revealing it", async () => {
    // The resource server signs access tokens with a key derived from the stack's secret, by default the signer's key.
    expect(await listRestarted()).toEqual(["Deployment facilitator", "Deployment resource-server"]);
    expect(await listRestarted({ stackSecret: "0123456789abcdef".repeat(4) })).toEqual(["Deployment facilitator"]);
    expect(JSON.stringify(manifests)).not.toContain("17".repeat(32));
  });

  it("keeps the resource server's pods when a price changes", async () => {
    const [before, after] = [await deploy(soldAt("1")), await deploy(soldAt("2"))].map((all) =>
      template(all, "Deployment", "resource-server"),
    );
    expect(after).toEqual(before);
    expect(after?.spec.volumes).toContainEqual({
      name: "resource-server-live",
      secret: { secretName: "resource-server-live", defaultMode: 0o440 },
    });
  });
});
