import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordStack, listManifests } from "#infra/testing/deployed-stack.ts";
import { readStackFile, signerPrivateKey, toRawConfig, type RawConfig } from "#infra/testing/stack-configs.ts";
import {
  explainMissingApiServer,
  preparationMs,
  startApiServer,
  type ApiServer,
} from "../support/kubernetes/api-server.ts";
import { applyStack, buildDefaultAccount, listPods } from "../support/kubernetes/apply-stack.ts";
import type { ClusterObject } from "../support/kubernetes/cluster-client.ts";
import { define, httpRoutes } from "../support/kubernetes/stand-in-definitions.ts";

const missing = explainMissingApiServer();
const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;
const examples = join(import.meta.dirname, "../../infra/examples");
const databaseUrl = "postgresql://gatehouse:hidden-password@db.example:6432/gatehouse";
const gatewayApi = { name: "public", namespace: "gateways", gatewayHost: "a.example", resourceServerHost: "b.example" };
const volumeGrowth = { ceilingGibibytes: 4_000, stepGibibytes: 250 };
const volumeSnapshots = { schedule: "0 3 * * *", keep: 3, className: "csi" };
const restore = { url: "https://snapshots.example/chain.tar.zst", sha256: "ab".repeat(32) };

/** An example's keys as Pulumi passes them to the program, with changes; undefined removes a key. */
function configOf(name: string, change: Readonly<Record<string, unknown>>): RawConfig {
  return toRawConfig({ ...readStackFile(join(examples, name)), signerPrivateKey, ...change });
}

const single = "Pulumi.kubernetes.yaml";
const cloud = {
  peerLoadBalancer: { className: "service.k8s.aws/nlb", annotations: { "service.beta.kubernetes.io/x": "y" } },
  hostIp: "peers.example",
  ingress: {
    gatewayHost: gatewayApi.gatewayHost,
    resourceServerHost: gatewayApi.resourceServerHost,
    className: "alb",
    sourceCidrs: ["10.0.0.0/16", "2600:1f18::/56"],
    annotations: { "alb.ingress.kubernetes.io/certificate-arn": "arn:aws:acm:x" },
    serviceAnnotations: { resourceServer: { "alb.ingress.kubernetes.io/healthcheck-path": "/health" } },
  },
};
const nodePort = { peers: "node-port", hostIp: undefined };
const stacks: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["one-node", configOf(single, {})],
  ["signal", configOf(single, { ...nodePort, nodeRestart: "signal", ingress: undefined, gatewayApi, volumeSnapshots })],
  ["host-port", configOf(single, { peers: "host-port", hostIp: undefined, volumeGrowth, restore })],
  [
    "cloud",
    configOf(single, {
      ...cloud,
      settings: { sidecar: { gateway: { rateStore: { redisUrl: "redis://[fd00::7]" } } } },
    }),
  ],
  ["replicated", configOf("Pulumi.kubernetes-replicated.yaml", { databaseUrl })],
];

describe.skipIf(missing !== undefined)(`the program's objects on an API server${skipped}`, () => {
  let cluster: ApiServer;
  beforeAll(async () => {
    cluster = await startApiServer();
    await define(cluster, httpRoutes);
  }, preparationMs);
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it.each(stacks)("are accepted without warnings in strict mode, with their pods: %s", async (namespace, config) => {
    const manifests = listManifests(await recordStack({ ...config, namespace }, { preview: false }));
    expect(manifests.length).toBeGreaterThan(25);
    // Only a host port causes a warning, because it violates the Pod Security Standard.
    const due = config["peers"] === "host-port" ? [expect.stringMatching(/violate PodSecurity.*: hostPort \(/)] : [];
    expect(await applyStack(cluster, manifests)).toEqual(due);
    // A second, dry run applies the same objects: none of it may change an immutable field.
    expect(await applyStack(cluster, manifests, "dry run")).toEqual(due);
    expect(await cluster.apply(buildDefaultAccount(namespace))).toBeUndefined();
    const pods = listPods(manifests);
    expect(pods.map(({ metadata }) => metadata.name)).toContain("node-0");
    const findings = [];
    for (const pod of pods) findings.push(await cluster.apply(pod, "dry run"));
    expect(findings.filter((finding) => finding !== undefined)).toEqual(due);
  });

  it("are rejected if a field is misspelt or a pod runs as root", async () => {
    const [namespace, config] = stacks[0] ?? ["", {}];
    const manifests = listManifests(await recordStack({ ...config, namespace }, { preview: false }));
    const misspelt = { ...manifests.find(({ kind }) => kind === "PodDisruptionBudget"), spec: { maxUnavailabel: 1 } };
    expect(await cluster.apply(misspelt as unknown as ClusterObject, "dry run")).toMatch(
      /field not declared in schema/,
    );
    const container = { name: "x", image: "x", securityContext: { runAsUser: 0 } };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "x", namespace },
      spec: { containers: [container] },
    };
    expect(await cluster.apply(pod, "dry run")).toMatch(/violates PodSecurity "restricted/);
  });
});
