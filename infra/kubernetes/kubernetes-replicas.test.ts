import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { listRegistrations, type Registered } from "../testing/stack-registrations.ts";
import { recordStack, findManifest, listManifests, type Manifest } from "../testing/deployed-stack.ts";
import { findSchemaViolations } from "../testing/kubernetes-schema.ts";
import { readStackFile, signerPrivateKey, type RawConfig } from "../testing/stack-configs.ts";
import { findUnknownFields } from "../testing/strict-schema.ts";

/** The example with the secrets that it tells users to set. */
const config: RawConfig = {
  ...readStackFile(join(import.meta.dirname, "../examples/Pulumi.kubernetes-replicated.yaml")),
  signerPrivateKey,
  databaseUrl: "postgresql://gatehouse:hidden-password@db.example:6432/gatehouse",
};

describe("the replicated stack on Kubernetes", () => {
  let manifests: readonly Manifest[] = [];
  beforeAll(async () => {
    manifests = listManifests(await recordStack(config, { preview: false }));
  });
  const find = (kind: string, name: string) => findManifest(manifests, kind, name);
  const servers = ["facilitator", "resource-server"];

  it("matches the published schemas without unknown fields", async () => {
    expect(await findSchemaViolations(manifests)).toEqual([]);
    expect(findUnknownFields(manifests)).toEqual([]);
  });

  it.each(servers)("scales the %s within its limits and disrupts one pod at a time", (name) => {
    expect(find("HorizontalPodAutoscaler", name).spec).toMatchObject({
      scaleTargetRef: { kind: "Deployment", name },
      minReplicas: 2,
      maxReplicas: 6,
      // A quarter of the limit: a quarter of the request would be much too early.
      metrics: [{ resource: { name: "cpu", target: { type: "AverageValue", averageValue: "700m" } } }],
    });
    const { replicas, strategy, template } = find("Deployment", name).spec;
    expect([replicas, strategy]).toEqual([
      2,
      { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    ]);
    expect(find("PodDisruptionBudget", name).spec).toMatchObject({ maxUnavailable: 1 });
    const { topologySpreadConstraints } = (template as { spec: { topologySpreadConstraints: unknown[] } }).spec;
    expect(topologySpreadConstraints).toEqual(
      ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map((topologyKey) =>
        expect.objectContaining({ topologyKey, whenUnsatisfiable: "ScheduleAnyway" }),
      ),
    );
  });

  it.each(servers)("leaves the %s's replica count to the autoscaler, even if min equals max", async (name) => {
    const key = name === "facilitator" ? "facilitatorReplicas" : "resourceServerReplicas";
    const fixed = { ...config, [key]: '{"min": 3, "max": 3}' };
    const { spec } = findManifest(
      listManifests(await recordStack(fixed, { preview: false })),
      "HorizontalPodAutoscaler",
      name,
    );
    expect(spec).toMatchObject({ minReplicas: 3, maxReplicas: 3 });
    const ofDeployment = (all: readonly Registered[]) =>
      all.find(({ registration }) => registration.urn.endsWith(`apps/v1:Deployment::gh-${name}`))?.options
        .ignoreChanges;
    expect(ofDeployment(await listRegistrations(fixed))).toEqual(["spec.replicas"]);
  });

  it.each(servers)("runs one %s with the Recreate strategy if its ledger is a file", async (name) => {
    const {
      databaseUrl: _,
      databaseCidr: __,
      facilitatorReplicas: ___,
      resourceServerReplicas: ____,
      ...single
    } = config;
    const alone = listManifests(await recordStack(single, { preview: false }));
    expect(alone.filter(({ kind }) => kind === "HorizontalPodAutoscaler")).toEqual([]);
    expect(findManifest(alone, "Deployment", name)).toMatchObject({
      // A replica count set by another tool is restored, without a conflict.
      metadata: { annotations: { "pulumi.com/patchForce": "true" } },
      spec: { replicas: 1, strategy: { type: "Recreate" } },
    });
  });

  it.each(servers)("delays the %s's SIGTERM by 5 s within the pod's grace period", (name) => {
    const { spec } = find("Deployment", name).spec["template"] as {
      spec: { terminationGracePeriodSeconds: number; containers: { lifecycle: unknown; env: unknown[] }[] };
    };
    const [container] = spec.containers;
    expect(container?.lifecycle).toEqual({
      preStop: { exec: { command: ["node", "--eval", "setTimeout(() => {}, 5000)"] } },
    });
    const variable = `GATEHOUSE_${name.replace("-", "_").toUpperCase()}_SHUTDOWN_GRACE_MS`;
    expect(container?.env).toContainEqual({ name: variable, value: "20000" });
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(5 + 20);
  });

  it.each(servers)("gives the %s the database URL as a file and no volume", (name) => {
    expect(JSON.stringify(find("Secret", `${name}-files`))).toContain('"ledger-url":"[secret]"');
    expect(
      manifests.filter(({ kind }) => kind === "PersistentVolumeClaim").map(({ metadata }) => metadata.name),
    ).not.toContain(`${name}-ledger`);
    expect(JSON.stringify(find("Deployment", name))).toMatch(/LEDGER_URL_FILE/);
  });

  it("opens the database's port to both servers, and reveals no password", () => {
    for (const name of servers) {
      expect(find("NetworkPolicy", name).spec["egress"]).toContainEqual({
        to: [{ ipBlock: { cidr: "10.20.0.0/24" } }],
        ports: [{ port: 6_432, protocol: "TCP" }],
      });
    }
    expect(find("NetworkPolicy", "node").spec["egress"]).not.toContainEqual(
      expect.objectContaining({ ports: [{ port: 6_432, protocol: "TCP" }] }),
    );
    expect(JSON.stringify(manifests)).not.toContain("hidden-password");
  });
});
