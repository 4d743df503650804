import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runtime } from "@pulumi/pulumi";
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { recordingMocks, type Recorded } from "./testing/recording-mocks.ts";
import { schemaFindings } from "./testing/kubernetes-schema.ts";

const recorded: Recorded[] = [];
const digest = `sha256:${"a".repeat(64)}`;
const config = {
  target: "kubernetes",
  gatehouseImage: `registry.example/gatehouse@${digest}`,
  devnetImage: `registry.example/devnet@${digest}`,
  devAccounts: "true",
  tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
  ingress: JSON.stringify({
    gatewayHost: "rpc.example",
    resourceServerHost: "paid.example",
    tlsSecret: "public-tls",
    className: "nginx",
  }),
};

type PodPart = Readonly<{
  initContainers: Readonly<{ name: string; command?: string[] }>[];
  containers: Readonly<{ name: string }>[];
  volumes: unknown[];
}>;
type ManifestSpec = Readonly<{ template: Readonly<{ spec: PodPart }>; ingress: unknown }>;
type Manifest = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec: ManifestSpec;
}>;

async function deploy(preview: boolean): Promise<void> {
  recorded.length = 0;
  await runtime.setMocks(recordingMocks(recorded), "gatehouse", "test", preview);
  const { parseConfig } = await import("./config.ts");
  const { kubernetesNamespaceOf } = await import("./kubernetes/kubernetes-stack.ts");
  const { Gatehouse } = await import("./components/gatehouse.ts");
  const { stackArgs } = await import("./spec/stack-specs.ts");
  const { deploymentSecret } = await import("./stack-input.ts");
  const parsed = parseConfig(config);
  const platform = kubernetesNamespaceOf(parsed, "gh");
  const { addresses, restart } = platform;
  new Gatehouse("gh", {
    ...stackArgs(parsed, { prefix: "gh", addresses, restart, secret: deploymentSecret }),
    platform,
  });
  await runtime.disconnect();
}

/** The objects of the stack as Kubernetes gets them, without what marks secrets for Pulumi. */
function manifests(): Manifest[] {
  return recorded
    .filter(({ type }) => type.startsWith("kubernetes:"))
    .map(({ inputs }) => withoutMarks(inputs) as Manifest)
    .toSorted((a, b) => `${a.kind}/${a.metadata.name}`.localeCompare(`${b.kind}/${b.metadata.name}`));
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  if (fields[runtime.specialSigKey] === runtime.specialSecretSig) return hidden(fields["value"]);
  return Object.fromEntries(Object.entries(fields).map(([key, inner]) => [key, withoutMarks(inner)]));
}

function hidden(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return "[secret]";
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hidden(inner)]));
}

const find = (kind: string, name: string): Manifest => {
  const found = manifests().find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
};

beforeAll(() => deploy(false), 30_000);

describe("the stack on Kubernetes", () => {
  it("is the golden YAML", async () => {
    const text = manifests()
      .map((manifest) => stringify(manifest, { lineWidth: 0, sortMapEntries: true }))
      .join("---\n");
    await expect(text).toMatchFileSnapshot(join(import.meta.dirname, "testing/stack.golden.yaml"));
  });

  it("is deployed to the configured cluster, not to the environment's", () => {
    const own = recorded.filter(({ type }) => type.startsWith("kubernetes:"));
    expect(own.filter(({ provider }) => !provider.includes("::cluster::")).map(({ name }) => name)).toEqual([]);
  });

  it("is what the published schemas allow", async () => {
    for (const manifest of manifests()) {
      expect(await schemaFindings(manifest), `${manifest.kind} ${manifest.metadata.name}`).toEqual([]);
    }
  });

  it("starts the sidecar before the node, and the node only once its configuration is right", () => {
    const { initContainers, containers } = find("StatefulSet", "node").spec.template.spec;
    const sidecar = initContainers.at(-1);
    expect(sidecar).toMatchObject({
      name: "sidecar",
      restartPolicy: "Always",
      startupProbe: { httpGet: { path: "/startupz" } },
    });
    expect(containers.map(({ name }) => name)).toEqual(["node"]);
    expect(initContainers[0]?.name).toBe("seed-node-conf");
  });

  it("gives the node's pod the right to restart itself, and no other right", () => {
    expect((find("Role", "node") as unknown as { rules: unknown }).rules).toEqual([
      { apiGroups: [""], resources: ["pods"], verbs: ["get", "delete"], resourceNames: ["node-0"] },
      { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"], resourceNames: ["node-0"] },
    ]);
  });

  it("lets only the facilitator reach the node's RPC, and only the ingress controller the gateway", () => {
    const { ingress } = find("NetworkPolicy", "node").spec;
    expect(ingress).toEqual([
      {
        from: [
          {
            podSelector: {
              matchLabels: { "app.kubernetes.io/component": "facilitator", "app.kubernetes.io/instance": "gh" },
            },
          },
        ],
        ports: [{ port: 18_100, protocol: "TCP" }],
      },
      {
        from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "ingress-nginx" } } }],
        ports: [{ port: 8_545, protocol: "TCP" }],
      },
    ]);
  });

  it("delivers secrets as files that the service owns", () => {
    const { initContainers, volumes } = find("Deployment", "facilitator").spec.template.spec;
    expect(initContainers[0]?.command).toEqual([
      "node",
      "/app/infra/images/install-files.ts",
      "copy",
      "/run/gatehouse/incoming",
      "/run/gatehouse/files",
    ]);
    expect(volumes).toContainEqual({ name: "facilitator-files", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } });
    const golden = readFileSync(join(import.meta.dirname, "testing/stack.golden.yaml"), "utf8");
    expect(golden).not.toContain("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
  });

  it("finds its way between services by their Services' names", () => {
    const services = manifests()
      .filter(({ kind }) => kind === "Service")
      .map(({ metadata }) => metadata.name);
    expect(services).toEqual([
      "facilitator",
      "gateway",
      "node",
      "pushgateway",
      "resource-server",
      "sidecar-status",
      "upstream",
    ]);
  });
});

describe("the stack on Kubernetes, at preview", () => {
  it("is made without knowing what only the cluster can tell", async () => {
    await deploy(true);
    expect(manifests().length).toBeGreaterThan(25);
  });
});
