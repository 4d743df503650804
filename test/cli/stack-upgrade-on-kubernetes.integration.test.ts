import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { pause } from "#daemon/time.ts";
import { recordStack, listManifests, findManifest, type Manifest } from "#infra/testing/deployed-stack.ts";
import { createKubectlCluster } from "../../cli/stack-upgrade/kubernetes/kubectl.ts";
import { createKubernetesPlatform } from "../../cli/stack-upgrade/kubernetes/kubernetes-platform.ts";
import type { StackQueries } from "../../cli/stack-upgrade/node-status.ts";
import type { PulumiCli } from "../../cli/stack-upgrade/pulumi/pulumi-cli.ts";
import { PulumiError } from "../../cli/stack-upgrade/pulumi/pulumi-process.ts";
import type { StackUpgradeOptions } from "../../cli/stack-upgrade/begin-upgrade.ts";
import { typeUpgrade } from "../../cli/stack-upgrade/testing/typed-command.ts";
import { checkWorkspace } from "../../cli/stack-upgrade/workspace-copy.ts";
import { createCertificateIssuer, hasOpenssl, withoutOpenssl } from "../support/certificates.ts";
import {
  explainMissingApiServer,
  preparationMs,
  startApiServer,
  type ApiServer,
} from "../support/kubernetes/api-server.ts";
import { applyStack, buildDefaultAccount } from "../support/kubernetes/apply-stack.ts";
import type { ClusterObject } from "../support/kubernetes/cluster-client.ts";
import { define, volumeSnapshotClasses, volumeSnapshots } from "../support/kubernetes/stand-in-definitions.ts";
import { startStandInControllers, type StandInControllers } from "../support/kubernetes/stand-in-controllers.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;
const lacking = [explainMissingApiServer(), hasKubectl ? undefined : "no kubectl on PATH"].filter(Boolean).join("; ");
const skipped = lacking === "" ? withoutOpenssl : ` (skipped: ${lacking})`;

const namespace = "pay";
const prefix = "gatehouse-prod";
const digest = `@sha256:${"a".repeat(64)}`;
const gatehouseImage = `registry.example/gatehouse${digest}`;
const images = { old: `registry.example/node:0.16.2${digest}`, new: `registry.example/node:0.17.0${digest}` };
const nodePath = `/apis/apps/v1/namespaces/${namespace}/statefulsets/node`;
const podPath = `/api/v1/namespaces/${namespace}/pods/node-0`;

const listStack = async (nodeImage: string): Promise<readonly Manifest[]> =>
  listManifests(
    await recordStack(
      {
        target: "kubernetes",
        namespace,
        gatehouseImage,
        devnetImage: gatehouseImage,
        nodeImage,
        nodeUser: "1000",
        nodeKeysSecret: "node-keys",
        signerPrivateKey: `0x${"17".repeat(32)}`,
        payTo: `0x${"01".repeat(20)}`,
        tokenAddress: `0x${"02".repeat(20)}`,
      },
      { preview: false, prefix },
    ),
  );

describe.skipIf(lacking !== "" || !hasOpenssl)(`a stack upgrade in a cluster${skipped}`, { timeout: 240_000 }, () => {
  const resources = new AsyncDisposableStack();
  let cluster: ApiServer;
  let controllers: StandInControllers;
  let directory: string;
  let config: Record<string, string | undefined>;
  let known: string;
  let exitCode: number;
  let isGood: boolean;
  let program: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "gatehouse-cluster-"));
    resources.defer(() => rm(directory, { recursive: true, force: true }));
    cluster = resources.use(await startApiServer());
    const certificate = await resources.use(await createCertificateIssuer()).make(2);
    for (const kind of [volumeSnapshots, volumeSnapshotClasses]) await define(cluster, kind);
    const annotations = { "snapshot.storage.kubernetes.io/is-default-class": "true" };
    const fast = { apiVersion: "snapshot.storage.k8s.io/v1", kind: "VolumeSnapshotClass" };
    const rejection = await cluster.apply({
      ...fast,
      metadata: { name: "fast", annotations },
      driver: "csi.example.com",
      deletionPolicy: "Delete",
    } as ClusterObject);
    expect(rejection).toBeUndefined();
    const stack = await listStack(images.old);
    expect(
      await applyStack(
        cluster,
        stack.filter(({ kind }) => kind !== "StatefulSet"),
      ),
    ).toEqual([]);
    expect(await cluster.apply(buildDefaultAccount(namespace))).toBeUndefined();
    await applyAsPulumi(images.old);
    program = join(directory, "kubectl");
    await writeFile(program, `#!/bin/sh\nKUBECONFIG=${cluster.kubeconfig} exec kubectl "$@"\n`, { mode: 0o755 });
    const volume = join(directory, "node-workspace");
    for (const name of ["data", "conf"]) await mkdir(join(volume, name), { recursive: true });
    await writeFile(join(volume, "conf/node.conf"), "{}");
    exitCode = 0;
    controllers = resources.use(
      await startStandInControllers(
        { cluster, namespace, directory, certificate },
        {
          exitCode: () => exitCode,
          start: (image, at) => writeFile(join(at, "data/chain"), `block by ${image}\n`, { flag: "a" }),
        },
      ),
    );
  }, preparationMs);
  afterAll(() => resources.disposeAsync());

  beforeEach(async () => {
    config = {
      "gatehouse:target": "kubernetes",
      "gatehouse:namespace": namespace,
      "gatehouse:nodeImage": images.old,
    };
    known = images.old;
    [exitCode, isGood] = [0, true];
    await until("the node runs", generousMs, async () => (await findRunning())?.image === images.old);
    await writeFile(join(directory, "node-workspace/data/chain"), `block by ${images.old}\n`);
    await writeFile(join(directory, "Pulumi.prod.yaml"), "");
  });
  afterEach(async () => {
    expect(controllers.findings).toEqual([]);
    known = "";
    await applyAsPulumi(images.old);
  });

  /** Like Pulumi's provider: server-side, without force, and with only the program's fields. */
  async function applyAsPulumi(image: string): Promise<void> {
    if (known === image) return;
    const manifest = findManifest(await listStack(image), "StatefulSet", "node");
    const path = `${nodePath}?fieldManager=pulumi-kubernetes-1a2b3c4d`;
    const { status, body } = await cluster.ask("PATCH", path, manifest, "application/apply-patch+yaml");
    if (status >= 300) throw new PulumiError(`pulumi up failed: ${JSON.stringify(body)}`);
    known = image;
  }

  async function findRunning() {
    const { status, body } = await cluster.ask("GET", podPath);
    if (status !== 200) return undefined;
    const pod = body as {
      metadata: { deletionTimestamp?: string };
      spec: { containers: { image: string }[] };
      status: { phase?: string };
    };
    const isRunning = pod.status.phase === "Running" && pod.metadata.deletionTimestamp === undefined;
    return isRunning ? { image: pod.spec.containers[0]?.image } : undefined;
  }

  /** Replaces the program that would run in the sidecar's container, because no container runs in this cluster. */
  const inspectData = async () => JSON.stringify(await checkWorkspace(join(directory, "node-workspace")));

  let height = 100;
  const questions: StackQueries = {
    checkNode: async () => {
      const running = await findRunning();
      if (running === undefined) return { ok: false, message: "no sidecar responds" };
      const isNew = running.image === images.new;
      const responses = !isNew || isGood;
      height += 1;
      const types = ["RpcResponding", "ConfigReconciled", "NoRestartPending", "VersionConsistent"];
      const status = responses ? "True" : "False";
      return {
        ok: true,
        said: {
          node: { answers: responses, height, binaryVersion: isNew ? "0.17.0" : "0.16.2" },
          conditions: types.map((each) => ({ type: each, status, reason: "Said", message: each })),
        },
      };
    },
    blockHash: async (number) => {
      const [first] = (await readFile(join(directory, "node-workspace/data/chain"), "utf8")).split("\n");
      return `${number} after ${first ?? "nothing"}`;
    },
    peers: async () => 3,
  };

  const pulumi: PulumiCli = {
    readBackend: async () => "file:///srv/state",
    readConfig: async () => config,
    readOutputs: async () => ({ urls: { public: {}, operations: { status: "http://sidecar-status:9600/status" } } }),
    preview: async () => [
      { op: "update", urn: `urn:pulumi:prod::gatehouse::kubernetes:apps/v1:StatefulSet::${prefix}-node` },
    ],
    setConfig: async (change) => void Object.assign(config, change),
    update: async () => {
      await applyAsPulumi(config["gatehouse:nodeImage"] ?? "");
      if (isGood) await until("the node runs", generousMs, async () => (await findRunning())?.image === known);
    },
    findUpdates: async () => [],
    interrupt: () => {},
    refresh: async () => {},
    readIds: async () => new Map([["urn:node", "pay/node"]]),
  };

  const type = (more: Partial<StackUpgradeOptions> = {}) =>
    typeUpgrade(
      directory,
      {
        requested: { image: images.new, version: undefined },
        limits: { copyMs: 60_000, proveMs: 3_000 },
        ...more,
      },
      {
        signal: new AbortController().signal,
        pulumi: () => pulumi,
        connect: (_prefix, target) => {
          if (target.kind !== "kubernetes") throw new Error("the stack is on Kubernetes");
          const waits = { clock: systemClock, pause: (ms: number) => pause(ms / 10) };
          const kubectl = { ...createKubectlCluster(target, { program }), exec: inspectData };
          return { platform: createKubernetesPlatform(prefix, target, kubectl, waits), queries: questions };
        },
        currentContext: async () => "test",
        pause: (ms) => pause(ms / 10),
        proof: { everyMs: 100, steadyMs: 500 },
        rollbackLimits: { copyMs: 60_000, updateMs: 60_000, proveMs: 30_000 },
      },
    );

  const readWorkload = async () =>
    (await cluster.ask("GET", nodePath)).body as {
      metadata: { managedFields: { manager: string }[] };
      spec: { replicas: number };
    };
  const readChain = async () =>
    (await readFile(join(directory, "node-workspace/data/chain"), "utf8")).trim().split("\n");
  const listNames = async (path: string): Promise<readonly string[]> =>
    ((await cluster.ask("GET", path)).body as { items: ClusterObject[] }).items.map(({ metadata: { name } }) => name);
  async function listLeft(): Promise<readonly string[]> {
    const core = `/api/v1/namespaces/${namespace}`;
    const found = [
      ...(await listNames(`${core}/pods`)),
      ...(await listNames(`${core}/persistentvolumeclaims`)),
      ...(await listNames(`/apis/snapshot.storage.k8s.io/v1/namespaces/${namespace}/volumesnapshots`)),
    ];
    return found.filter((name) => name.includes("upgrade") || name.includes("look"));
  }

  it("shows its plan with --dry-run, needs no further permissions, and leaves nothing behind", async () => {
    const { status, printed } = await type({ dryRun: true });
    expect(printed).toContain("1. Scale the StatefulSet node of pay to 0");
    expect(printed).not.toContain("problem:");
    expect([status, (await findRunning())?.image]).toEqual([0, images.old]);
    await until("nothing is left", generousMs, async () => (await listLeft()).length === 0);
  });

  it("ends with the new version, and owns no field that Pulumi sets", async () => {
    const { status, printed } = await type();
    expect(printed).toContain("Verified: prod runs 0.17.0");
    expect([status, (await findRunning())?.image]).toEqual([0, images.new]);
    const { metadata, spec } = await readWorkload();
    expect(spec.replicas).toBe(1);
    expect(metadata.managedFields.map(({ manager }) => manager)).not.toContain("gatehouse-upgrade");
    expect(await readChain()).toEqual([`block by ${images.old}`, `block by ${images.new}`]);
    await until("nothing is left", generousMs, async () => (await listLeft()).length === 0);
  });

  it("rolls back to the data in the snapshot, and leaves nothing for Pulumi to do", async () => {
    isGood = false;
    const { status, printed } = await type();
    expect(printed).toContain("Rolled back: prod runs 0.16.2");
    expect([status, (await findRunning())?.image, config["gatehouse:nodeImage"]]).toEqual([1, images.old, images.old]);
    expect(await readChain()).toEqual([`block by ${images.old}`, `block by ${images.old}`]);
    await until("nothing is left", generousMs, async () => (await listLeft()).length === 0);
    // Another apply without force finds no conflict and changes nothing.
    const workloadBefore = await readWorkload();
    known = "";
    await applyAsPulumi(images.old);
    expect((await readWorkload()).spec).toEqual(workloadBefore.spec);
  });

  it("fails if the node had to be killed, and restarts it", async () => {
    exitCode = 137;
    const { status, printed } = await type();
    expect(printed).toContain("node-0 was killed after its grace period");
    expect([status, (await findRunning())?.image]).toEqual([1, images.old]);
    expect(await listLeft()).toEqual([]);
  });
});
