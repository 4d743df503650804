import { beforeAll, describe, expect, it } from "vitest";
import { recordStack, findManifest, listManifests, type Manifest } from "../testing/deployed-stack.ts";
import { findSchemaViolations } from "../testing/kubernetes-schema.ts";

const config = {
  target: "kubernetes",
  gatehouseImage: "registry.example/gatehouse:1",
  devnetImage: "registry.example/devnet:1",
  nodeImage: "registry.example/node:community_v0.12.2_f301031a_0422",
  signerPrivateKey: `0x${"17".repeat(32)}`,
  payTo: `0x${"01".repeat(20)}`,
  tokenAddress: `0x${"02".repeat(20)}`,
  nodeKeysSecret: "vault-made",
  nodeKeysPassword: "the password of the keys",
  nodeGenesis: '{"domains": {}}',
  imagePullSecrets: '["registry"]',
  nodeScheduling: JSON.stringify({
    nodeSelector: { pool: "chain" },
    tolerations: [{ key: "chain", operator: "Exists", effect: "NoSchedule" }],
    affinity: { nodeAffinity: {} },
    priorityClassName: "chain",
  }),
};

type Mount = Readonly<{ name: string; mountPath: string }>;
type Container = Readonly<{ name: string; command?: string[]; env?: unknown[]; volumeMounts: Mount[] }>;
type PodSpec = Readonly<{ initContainers: Container[]; containers: Container[]; [field: string]: unknown }>;

let manifests: readonly Manifest[] = [];
const podOf = (kind: string, name: string) =>
  (findManifest(manifests, kind, name).spec["template"] as { spec: PodSpec }).spec;

describe("a node on Kubernetes whose image copies its binaries at every start", () => {
  beforeAll(async () => {
    manifests = listManifests(await recordStack(config, { preview: false }));
  });

  it("renders objects that match the cluster's schema", async () => {
    expect(await findSchemaViolations(manifests)).toEqual([]);
  });

  it("mounts one workspace volume, and its keys in the node and seed containers", () => {
    const { initContainers, containers } = podOf("StatefulSet", "node");
    expect(containers[0]?.volumeMounts).toEqual([
      { name: "node-workspace", mountPath: "/data", readOnly: false },
      { name: "node-files", mountPath: "/data/keys", readOnly: true },
      { name: "tmp", mountPath: "/tmp", subPath: "node" },
    ]);
    expect(initContainers.map(({ name }) => name)).toEqual(["node-install-files", "seed-node-conf", "sidecar"]);
    const seed = initContainers.find(({ name }) => name === "seed-node-conf");
    expect(seed?.volumeMounts).toEqual(
      expect.arrayContaining([
        { name: "node-placed", mountPath: "/run/gatehouse/placed", readOnly: true },
        { name: "node-files", mountPath: "/data/keys", readOnly: true },
      ]),
    );
    expect(seed?.command).toEqual(
      expect.arrayContaining(["/run/gatehouse/placed/placed-0=/data/genesis.conf", "/data/keys/stabilizing.key"]),
    );
    expect(findManifest(manifests, "Secret", "node-placed")).toMatchObject({
      stringData: { "placed-0": "[secret]" },
    });
  });

  it("reads the keys' password from a Secret", () => {
    for (const name of ["CONSENSUS_KEY_PWD", "PORTAL_SSL_PWD"]) {
      const valueFrom = { secretKeyRef: { name: "node-environment", key: name } };
      expect(podOf("StatefulSet", "node").containers[0]?.env).toContainEqual({ name, valueFrom });
    }
    expect(findManifest(manifests, "Secret", "node-environment")).toMatchObject({
      stringData: { CONSENSUS_KEY_PWD: "[secret]", PORTAL_SSL_PWD: "[secret]" },
    });
    expect(JSON.stringify(manifests)).not.toContain(config.nodeKeysPassword);
  });

  it("applies nodeScheduling only to the node, and pull secrets to every pod", () => {
    expect(podOf("StatefulSet", "node")).toMatchObject(JSON.parse(config.nodeScheduling) as object);
    expect(podOf("Deployment", "facilitator")).not.toHaveProperty("nodeSelector");
    for (const [kind, name] of [
      ["StatefulSet", "node"],
      ["Deployment", "facilitator"],
    ] as const) {
      expect(podOf(kind, name)).toMatchObject({ imagePullSecrets: [{ name: "registry" }] });
    }
  });

  it("gives the API token only to the sidecar", () => {
    const { initContainers, containers, ...pod } = podOf("StatefulSet", "node");
    expect(pod["automountServiceAccountToken"]).toBe(false);
    const withToken = [...initContainers, ...containers].filter(({ volumeMounts }) =>
      volumeMounts.some(({ mountPath }) => mountPath === "/var/run/secrets/kubernetes.io/serviceaccount"),
    );
    expect(withToken.map(({ name }) => name)).toEqual(["sidecar"]);
  });

  it("has a headless Service, and no object for which an update waits", () => {
    const { serviceName } = findManifest(manifests, "StatefulSet", "node").spec;
    expect(findManifest(manifests, "Service", String(serviceName)).spec).toMatchObject({ clusterIP: "None" });
    // `pulumi refresh` also checks what Pulumi waits for: an unready pod or Service would count as drift.
    const awaited = manifests
      .filter(({ kind }) => ["Deployment", "StatefulSet", "Service", "PersistentVolumeClaim"].includes(kind))
      .filter(({ metadata }) => metadata.annotations?.["pulumi.com/skipAwait"] === undefined);
    expect(awaited.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  });
});
