import { execFile } from "node:child_process";
import { cp, mkdir, rm } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { pino } from "pino";
import { poll } from "#daemon/time.ts";
import type { Certificate } from "../certificates.ts";
import type { ApiServer } from "./api-server.ts";
import type { ClusterObject } from "./cluster-client.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

/**
 * Parts of a test's cluster for one node: the StatefulSet controller, a machine with a kubelet, and the volume and snapshot controllers.
 */
export type StandInControllers = AsyncDisposable &
  Readonly<{
    /** The directory behind a claim. */
    directoryOf: (claim: string) => string;
    findings: readonly string[];
  }>;

export type NodeBehaviour = Readonly<{
  start: (image: string, volume: string) => Promise<void>;
  exitCode: () => number;
}>;

type MountedVolume = Readonly<{ name: string; persistentVolumeClaim?: { claimName: string } }>;
type Pod = ClusterObject &
  Readonly<{
    spec: Readonly<{
      nodeName?: string;
      volumes?: readonly MountedVolume[];
      containers: readonly Readonly<{
        image: string;
        command?: readonly string[];
        volumeMounts?: readonly Readonly<{ name: string; mountPath: string }>[];
      }>[];
    }>;
    status: Readonly<{ phase?: string }>;
  }>;
type Seen = ClusterObject & Readonly<{ spec: Record<string, unknown>; status?: Record<string, unknown> }>;

const machine = "machine";
const merge = "application/merge-patch+json";
const everyMs = 50;

export async function startStandInControllers(
  {
    cluster,
    namespace,
    directory,
    certificate,
  }: Readonly<{
    cluster: ApiServer;
    namespace: string;
    directory: string;
    certificate: Certificate;
  }>,
  node: NodeBehaviour,
): Promise<StandInControllers> {
  const ending = new AbortController();
  const printed = new Map<string, string>();
  const findings: string[] = [];
  const begun = new Set<string>();
  const directoryOf = (claim: string) => join(directory, claim);
  const core = `/api/v1/namespaces/${namespace}`;
  const snapshots = `/apis/snapshot.storage.k8s.io/v1/namespaces/${namespace}/volumesnapshots`;
  const list = async <T>(path: string) => ((await cluster.ask("GET", path)).body as { items: T[] }).items;
  const patch = (path: string, change: unknown) => cluster.ask("PATCH", path, change, merge);

  const kubelet = createServer({ key: certificate.key, cert: certificate.cert }, (request, response) => {
    const name = (request.url ?? "").split("/")[3] ?? "";
    response.end(printed.get(name) ?? "");
  });
  const local = await listenLocally(kubelet);
  await registerMachine(cluster, local.port);

  async function syncNode(pods: readonly Pod[]): Promise<void> {
    const path = `/apis/apps/v1/namespaces/${namespace}/statefulsets/node`;
    const { spec } = (await cluster.ask("GET", path)).body as {
      spec: { replicas: number; template: { metadata: object; spec: object } };
    };
    const pod = pods.find(({ metadata }) => metadata.name === "node-0");
    if (pod === undefined && spec.replicas === 1) {
      const metadata = { ...spec.template.metadata, name: "node-0", namespace };
      await cluster.ask("POST", `${core}/pods`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata,
        spec: { ...spec.template.spec, nodeName: machine },
      });
    } else if (pod !== undefined && pod.metadata["deletionTimestamp"] === undefined) {
      const wantedImage = (spec.template.spec as Pod["spec"]).containers[0]?.image;
      if (spec.replicas === 1 && pod.spec.containers[0]?.image === wantedImage) return;
      await cluster.ask("DELETE", `${core}/pods/node-0`);
    }
  }

  async function runNode(pod: Pod): Promise<void> {
    const path = `${core}/pods/node-0`;
    const [image = "", uid] = [pod.spec.containers[0]?.image, String(pod.metadata["uid"])];
    const about = (state: object) => ({ name: "node", image, imageID: image, ready: true, restartCount: 0, state });
    if (pod.metadata["deletionTimestamp"] !== undefined) {
      if (pod.metadata["deletionGracePeriodSeconds"] === 0) return;
      const terminated = { exitCode: node.exitCode(), startedAt: null, finishedAt: null };
      const status = { phase: "Succeeded", containerStatuses: [about({ terminated })] };
      await patch(`${path}/status`, { status });
      await cluster.ask("DELETE", path, { gracePeriodSeconds: 0, preconditions: { uid } });
      return;
    }
    if (begun.has(uid)) return;
    begun.add(uid);
    await node.start(image, directoryOf("node-workspace"));
    const running = { startedAt: new Date().toISOString() };
    await patch(`${path}/status`, { status: { phase: "Running", containerStatuses: [about({ running })] } });
  }

  async function runWork({ metadata: { name }, spec, ...pod }: Pod): Promise<void> {
    if (pod.status.phase !== "Pending" || begun.has(name)) return;
    begun.add(name);
    const binding = { target: { apiVersion: "v1", kind: "Node", name: machine } };
    await cluster.ask("POST", `${core}/pods/${name}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      ...binding,
    });
    const [container] = spec.containers;
    const places = (container?.volumeMounts ?? []).map(({ name: volume, mountPath }) => {
      const claim = spec.volumes?.find((each) => each.name === volume)?.persistentVolumeClaim?.claimName;
      return [mountPath, directoryOf(claim ?? "")] as const;
    });
    const program = join(import.meta.dirname, "../../..", (container?.command?.[1] ?? "").replace("/app/", ""));
    const words = (container?.command ?? []).slice(2).map((word) => new Map(places).get(word) ?? word);
    const status = await new Promise<number>((resolve) => {
      execFile(process.execPath, [program, ...words], (error, out, said) => {
        printed.set(name, `${out}${said}`);
        resolve(error === null ? 0 : 1);
      });
    });
    const state = { terminated: { exitCode: status, startedAt: null, finishedAt: null } };
    const ended = { name: "work", image: "", imageID: "", ready: false, restartCount: 0, state };
    await patch(`${core}/pods/${name}/status`, {
      status: { phase: status === 0 ? "Succeeded" : "Failed", containerStatuses: [ended] },
    });
    begun.delete(name);
  }

  async function runPods(): Promise<void> {
    const pods = await list<Pod>(`${core}/pods`);
    await syncNode(pods);
    for (const pod of pods) {
      const { name, deletionTimestamp } = pod.metadata;
      if (name === "node-0") await runNode(pod);
      else if (deletionTimestamp === undefined) await runWork(pod);
      else await cluster.ask("DELETE", `${core}/pods/${name}`, { gracePeriodSeconds: 0 });
    }
  }

  async function runVolumes(): Promise<void> {
    for (const { metadata, spec, status } of await list<Seen>(snapshots)) {
      if (status !== undefined) continue;
      const { persistentVolumeClaimName: claim } = spec["source"] as { persistentVolumeClaimName: string };
      await cp(directoryOf(claim), directoryOf(`snapshot of ${metadata.name}`), { recursive: true });
      const content = { boundVolumeSnapshotContentName: `content-${metadata.name}`, restoreSize: "500Gi" };
      await patch(`${snapshots}/${metadata.name}`, { status: { ...content, readyToUse: true } });
    }
    for (const { metadata, spec } of await list<Seen>(`${core}/persistentvolumeclaims`)) {
      const path = `${core}/persistentvolumeclaims/${metadata.name}`;
      if (metadata["deletionTimestamp"] !== undefined) {
        await rm(directoryOf(metadata.name), { recursive: true, force: true });
        await patch(path, { metadata: { finalizers: null } });
      } else if (spec["volumeName"] === undefined) await addVolume(path, metadata.name, spec);
    }
  }

  async function addVolume(path: string, name: string, spec: Seen["spec"]): Promise<void> {
    const source = (spec["dataSource"] as { name: string } | undefined)?.name;
    const [to, from] = [directoryOf(name), directoryOf(`snapshot of ${source ?? ""}`)];
    await (source === undefined ? mkdir(to, { recursive: true }) : cp(from, to, { recursive: true }));
    const volume = `volume-${name}`;
    const csi = { driver: "csi.example.com", volumeHandle: name };
    const capacity = { storage: "500Gi" };
    await cluster.apply({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: volume },
      spec: { capacity, accessModes: ["ReadWriteOnce"], csi },
    } as ClusterObject);
    await patch(path, { spec: { volumeName: volume } });
    await patch(`${path}/status`, { status: { phase: "Bound", capacity, accessModes: ["ReadWriteOnce"] } });
  }

  const log = pino({ level: "error" }, { write: (line: string) => void findings.push(line) });
  const loops = [runPods, runVolumes].map((task) =>
    poll({ name: task.name, failed: () => undefined, intervalMs: everyMs, signal: ending.signal }, task, { log }),
  );
  return {
    directoryOf,
    findings,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await Promise.all(loops.map(({ ended }) => ended));
      kubelet.closeAllConnections();
      kubelet.close();
    },
  };
}

async function registerMachine(cluster: ApiServer, port: number): Promise<void> {
  const rejection = await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: machine } });
  if (rejection !== undefined) throw new Error(rejection);
  const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: port } } };
  await cluster.ask("PATCH", `/api/v1/nodes/${machine}/status`, { status }, merge);
}
