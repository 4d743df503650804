import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordStack, listManifests, type Manifest } from "#infra/testing/deployed-stack.ts";
import { startWatchedVolume } from "#sidecar/testing/watched-volume.ts";
import { createKubernetesApi, type KubernetesApi } from "#sidecar/upkeep/drivers/kubernetes-api.ts";
import { createKubernetesDriver, createKubernetesNodeCli } from "#sidecar/upkeep/drivers/kubernetes-driver.ts";
import { createVolumeClaim } from "#sidecar/volume/volume-claim.ts";
import { takeSnapshot } from "#sidecar/volume-snapshot/volume-snapshot-command.ts";
import {
  explainMissingApiServer,
  preparationMs,
  startApiServer,
  type ApiServer,
} from "../support/kubernetes/api-server.ts";
import { applyStack, listPods } from "../support/kubernetes/apply-stack.ts";
import type { ClusterObject } from "../support/kubernetes/cluster-client.ts";
import { define, volumeSnapshots } from "../support/kubernetes/stand-in-definitions.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { listForbiddenToNode, listForbiddenToSnapshots, findNotRejected } from "./forbidden-cluster-calls.ts";

const missing = explainMissingApiServer();
const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;
const { signal } = new AbortController();
const image = `registry.example/image@sha256:${"a".repeat(64)}`;
const deadlineMs = generousMs;
const stacks = { "delete-pod": "deleting", signal: "signalling" } as const;
type Strategy = keyof typeof stacks;

const configOf = (strategy: Strategy) => ({
  target: "kubernetes",
  namespace: stacks[strategy],
  gatehouseImage: image,
  devnetImage: image,
  devAccounts: "true",
  tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
  storageClass: "growing",
  nodeVolumeGibibytes: "500",
  nodeRestart: strategy,
  ...(strategy === "signal" ? {} : { volumeGrowth: JSON.stringify({ ceilingGibibytes: 650 }) }),
  volumeSnapshots: JSON.stringify({ schedule: "0 3 * * *", keep: 3 }),
});

const pathOf = ({ metadata: { namespace, name } }: ClusterObject) => `/api/v1/namespaces/${namespace}/pods/${name}`;

describe.skipIf(missing !== undefined)(`permissions on an API server${skipped}`, () => {
  const resources = new AsyncDisposableStack();
  let cluster: ApiServer;
  let nodePod: Record<Strategy, ClusterObject>;

  beforeAll(async () => {
    cluster = resources.use(await startApiServer());
    await define(cluster, volumeSnapshots);
    const growing = { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "growing" } };
    const provisioned = { ...growing, provisioner: "example.com/disk", allowVolumeExpansion: true };
    expect(await cluster.apply(provisioned)).toBeUndefined();
    nodePod = { "delete-pod": await deploy("delete-pod"), signal: await deploy("signal") };
  }, preparationMs);
  afterAll(() => resources.disposeAsync());

  /** Applies the stack's objects and creates the node's pod, like a cluster's controllers; returns that pod. */
  async function deploy(strategy: Strategy): Promise<ClusterObject> {
    const stack: readonly Manifest[] = listManifests(await recordStack(configOf(strategy), { preview: false }));
    expect(await applyStack(cluster, stack)).toEqual([]);
    const pod = listPods(stack).find(({ metadata }) => metadata.name === "node-0");
    if (pod === undefined) throw new Error("the stack has no pod node-0");
    await startPod(pod);
    return pod;
  }

  /** Creates the pod and sets its status like a kubelet. */
  async function startPod(pod: ClusterObject): Promise<void> {
    expect(await cluster.apply(pod)).toBeUndefined();
    const state = { running: { startedAt: new Date().toISOString() } };
    const node = { name: "node", image, imageID: image, ready: true, restartCount: 0, state };
    const status = { status: { phase: "Running", containerStatuses: [node] } };
    const said = await cluster.ask("PATCH", `${pathOf(pod)}/status`, status, "application/merge-patch+json");
    expect(said.status).toBe(200);
  }

  async function apiOf(strategy: Strategy, account: string): Promise<KubernetesApi> {
    const serviceAccountDirectory = await cluster.accountDirectory(stacks[strategy], account);
    return resources.use(createKubernetesApi({ apiUrl: cluster.url, serviceAccountDirectory, timeoutMs: 5_000 }));
  }

  const driverOf = async (strategy: Strategy) => {
    const api = await apiOf(strategy, "node");
    return createKubernetesDriver({ pod: "node-0", container: "node", timeoutMs: deadlineMs }, api);
  };

  it("let the sidecar delete its pod and observe the new one", async () => {
    const driver = await driverOf("delete-pod");
    const pod = nodePod["delete-pod"];
    const uid = async () =>
      ((await cluster.ask("GET", pathOf(pod))).body as { metadata: { uid?: string } }).metadata.uid;
    const uidBefore = await uid();
    const restarted = driver.restart(signal);
    await until("the pod is gone", deadlineMs, async () => (await cluster.ask("GET", pathOf(pod))).status === 404);
    await startPod(pod);
    await restarted;
    expect(await uid()).not.toBe(uidBefore);
    expect(await driver.startedAt?.(signal)).toBeTypeOf("number");
  });

  it("do not let it delete its pod if it signals the node, and the error includes the API server's message", async () => {
    const driver = await driverOf("signal");
    await expect(driver.restart(signal)).rejects.toThrow(
      /^pod node-0 could not be deleted: 403: pods "node-0" is forbidden: User "system:serviceaccount:signalling:node" cannot delete .*; grant delete on it\.$/,
    );
    expect(await driver.startedAt?.(signal)).toBeTypeOf("number");
  });

  it("let it run node_cli only in its own pod", async () => {
    const api = await apiOf("delete-pod", "node");
    const options = {
      apiUrl: cluster.url,
      container: "node",
      timeoutMs: 5_000,
      outputLimitBytes: 100,
    };
    const run = (pod: string) =>
      createKubernetesNodeCli(
        { ...options, pod },
        () => ({ directory: "/data/bin", command: "node_cli" }),
        api,
      )(["--version"], signal);
    // There is no kubelet to run the pod, so this only tests the permission.
    expect(await run("node-0")).toMatchObject({ message: expect.stringMatching(/pod node-0 does not have a host/) });
    expect(await run("facilitator-0")).toMatchObject({
      message: expect.stringMatching(/403: pods "facilitator-0" is forbidden: .*; grant create on pods\/exec\.$/),
    });
  });

  it.each(["delete-pod", "signal"] as const)("deny the node's account everything else (%s)", async (strategy) => {
    const node = await cluster.as(stacks[strategy], "node");
    expect(await findNotRejected(node, listForbiddenToNode(stacks[strategy], strategy))).toEqual([]);
  });

  it("let the node's claim grow step by step to its maximum, and never shrink", async () => {
    const api = await apiOf("delete-pod", "node");
    const path = `/api/v1/namespaces/${stacks["delete-pod"]}/persistentvolumeclaims/node-workspace`;
    const disk = { freeRatio: 0.1 };
    /** Sets the claim's status like the cluster's volume controllers when it is bound, or has grown. */
    const becomes = async (storage: string) => {
      const status = { status: { phase: "Bound", capacity: { storage } } };
      expect((await cluster.ask("PATCH", `${path}/status`, status, "application/merge-patch+json")).status).toBe(200);
    };
    const requested = async () => {
      const { body } = await cluster.ask("GET", path);
      return (body as { spec: { resources: { requests: { storage: string } } } }).spec.resources.requests.storage;
    };
    await becomes("500Gi");
    const limits = { growBelowFreeRatio: 0.15, stepGibibytes: 100, ceilingGibibytes: 650, pauseMs: 1_000 };
    await using watchedVolume = startWatchedVolume(limits, { api, disk, claim: "node-workspace" });
    await watchedVolume.until("Growing");
    expect(await requested()).toBe("600Gi");
    await becomes("600Gi");
    await watchedVolume.untilMessage("It can be expanded again from");
    watchedVolume.time.ms += limits.pauseMs;
    await expect.poll(requested).toBe("650Gi");
    await becomes("650Gi");
    await watchedVolume.until("AtMaxSize");
    await expect(createVolumeClaim("node-workspace", api).resize(400, signal)).rejects.toThrow(
      /^The claim node-workspace could not be expanded to 400 GiB: 422: .*can not be less than/,
    );
    await expect(createVolumeClaim("sidecar-state", api).readSize(signal)).rejects.toThrow(
      /403: .*"sidecar-state" is forbidden/,
    );
  });

  it("let the snapshot job take snapshots and delete its own old ones, and deny it everything else", async () => {
    const api = await apiOf("delete-pod", "volume-snapshot");
    const list = `/apis/snapshot.storage.k8s.io/v1/namespaces/${stacks["delete-pod"]}/volumesnapshots`;
    const metadata = { name: "by-hand", namespace: stacks["delete-pod"] };
    const spec = { source: { persistentVolumeClaimName: "node-workspace" } };
    const responseWritten = { apiVersion: "snapshot.storage.k8s.io/v1", kind: "VolumeSnapshot", metadata, spec };
    expect(await cluster.apply(responseWritten)).toBeUndefined();
    const settings = { claim: "node-workspace", keep: 3 };
    for (const second of [1, 2, 3, 4, 5]) {
      const now = () => new Date(Date.UTC(2026, 10, 21, 3, 0, second));
      await takeSnapshot(settings, { api, log: pino({ level: "silent" }), signal, now });
    }
    const { body } = await cluster.ask("GET", list);
    expect((body as { items: ClusterObject[] }).items.map((each) => each.metadata.name)).toEqual([
      "by-hand",
      ...[3, 4, 5].map((second) => `node-workspace-20261121t03000${second}z`),
    ]);
    const job = await cluster.as(stacks["delete-pod"], "volume-snapshot");
    expect(await findNotRejected(job, listForbiddenToSnapshots(stacks["delete-pod"]))).toEqual([]);
  });
});
