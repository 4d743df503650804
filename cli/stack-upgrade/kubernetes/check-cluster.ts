import { randomBytes } from "node:crypto";
import { z } from "zod";
import { hasRoomFor } from "#daemon/files/disk-space.ts";
import { formatKubectlCommand } from "../stack-commands.ts";
import type { PlatformCheck } from "../stack-platform.ts";
import type { KubernetesTarget } from "../stack-target.ts";
import { explainCopy, formatSize, listLeftovers, parseVolumeReport } from "../workspace-report.ts";
import { findClaim, listUpgradeSnapshots, type NodeClaim } from "./claim-snapshot.ts";
import { ClusterError, type Cluster } from "./cluster.ts";
import { findMissingRights } from "./cluster-rights.ts";
import { formatDiscardCommand, runWorkPod, type WorkLocation } from "./work-pod.ts";
import { names, podFinalizer, snapshotGroup } from "./kubernetes-names.ts";
import type { ScaleDependencies } from "./scale-node.ts";
import { findNodeImage, findNodePod, findNodeUser, findWorkload, type NodePod, type Workload } from "./workload.ts";

type KubernetesPlace = Readonly<{ prefix: string; target: KubernetesTarget }>;

/** Time limit for inspecting the data, including scheduling its pod and pulling the image. */
const lookMs = 300_000;

/** Checks a stack's node, claim, permissions and snapshots; leaves no changes. */
export async function checkCluster(place: KubernetesPlace, dependencies: ScaleDependencies): Promise<PlatformCheck> {
  const { cluster } = dependencies;
  const { target } = place;
  const missing = await findMissingRights(target.namespace, cluster);
  if (missing.length > 0) return refuse(missing.map((right) => explainRight(right, target)));
  const workload = await findWorkload(cluster);
  const problems = [
    ...findWorkloadProblems(workload, place),
    ...findPodProblems(await findNodePod(cluster), target),
    ...(await findSnapshotProblems(place, cluster)),
  ];
  const [toolImage, user] = [findToolImage(workload), workload && findNodeUser(workload)];
  if (problems.length > 0 || toolImage === undefined || user === undefined) return refuse(problems);
  const data = await checkData({ ...place, toolImage, user }, dependencies);
  return data.conf === undefined && data.problems.length > 0 ? refuse(data.problems) : { ...data, toolImage };
}

const nothing = { warnings: [], toolImage: undefined, conf: undefined, copyWords: "", clones: false } as const;

function refuse(problems: readonly string[]): PlatformCheck {
  return { ...nothing, problems };
}

function explainRight(right: string, { namespace, context }: KubernetesTarget): string {
  return `you may not ${right} in the namespace ${namespace}${context === undefined ? "" : ` of ${context}`}; have it granted, or use another context of the kubeconfig`;
}

function* findWorkloadProblems(workload: Workload | undefined, { prefix, target }: KubernetesPlace): Generator<string> {
  const { namespace } = target;
  if (workload === undefined) {
    yield `there is no StatefulSet ${names.workload} in the namespace ${namespace}`;
    return;
  }
  const { metadata, spec } = workload;
  const owner = metadata.labels["app.kubernetes.io/instance"];
  if (owner !== prefix) yield `the StatefulSet ${names.workload} of ${namespace} belongs to no stack ${prefix}`;
  if (spec.replicas !== 1) {
    yield `the StatefulSet ${names.workload} of ${namespace} is scaled to ${spec.replicas}; run pulumi up first`;
  }
  if (findNodeUser(workload) === undefined || findToolImage(workload) === undefined) {
    yield `the StatefulSet ${names.workload} of ${namespace} is not as this release deploys it; run pulumi up with it first`;
  }
  const node = spec.template.spec.containers.find(({ name }) => name === names.node);
  if (node?.volumeMounts.some(({ name, subPath }) => name === names.claim && subPath === undefined) === true) {
    yield "the node sees the whole of its volume, as an earlier release deployed it; run pulumi up with this release first";
  }
}

function* findPodProblems(pod: NodePod | undefined, target: KubernetesTarget): Generator<string> {
  if (pod === undefined) {
    yield `there is no pod ${names.pod}`;
    return;
  }
  const status = pod.status.containerStatuses.find(({ name }) => name === names.node);
  if (status?.state.running === undefined) yield `the container ${names.node} of the pod ${names.pod} does not run`;
  if (findNodeImage(pod.spec.containers) === undefined) yield `the pod ${names.pod} has no container ${names.node}`;
  if (pod.metadata.finalizers.includes(podFinalizer)) {
    const change = JSON.stringify({ metadata: { finalizers: null } });
    const command = formatKubectlCommand(target, "patch", "pod", names.pod, "--type=merge", `--patch=${change}`);
    yield `another upgrade holds the pod ${names.pod}: go on with it where it was begun (--continue); or, if there is none any more, let it go: ${command}`;
  }
}

function findToolImage(workload: Workload | undefined): string | undefined {
  return workload?.spec.template.spec.initContainers.find(({ name }) => name === names.sidecar)?.image;
}

const defaultClass = "snapshot.storage.kubernetes.io/is-default-class";

const classShape = z.object({
  metadata: z.object({ name: z.string(), annotations: z.record(z.string(), z.string()).default({}) }),
  driver: z.string(),
});

const volumeShape = z.object({
  spec: z.object({ csi: z.object({ driver: z.string() }).optional(), storageClassName: z.string().optional() }),
});

async function findSnapshotProblems(place: KubernetesPlace, cluster: Cluster): Promise<readonly string[]> {
  if (!(await cluster.serves(`${snapshotGroup}/v1`))) {
    return [
      `the cluster knows no VolumeSnapshots (${snapshotGroup}), so the node's data can't be kept for the way back: install the snapshot controller with its definitions, and a driver that takes snapshots`,
    ];
  }
  const claim = await findClaim(cluster);
  if (claim === undefined) return [`there is no claim ${names.claim}`];
  const left = await listUpgradeSnapshots(cluster);
  return [
    ...left.map(({ metadata: { name } }) =>
      explainCopy(`the VolumeSnapshot ${name}`, formatKubectlCommand(place.target, "delete", "volumesnapshot", name)),
    ),
    ...(await findDriverProblems(claim, place.target, cluster)),
  ];
}

/** Finds reasons why the volume's driver can't take a snapshot. Otherwise a snapshot class for another driver would fail only after the node is stopped. */
async function findDriverProblems(
  { spec, status }: NodeClaim,
  { snapshotClass }: KubernetesTarget,
  cluster: Cluster,
): Promise<readonly string[]> {
  if (spec.volumeName === undefined || status.phase !== "Bound") return [`the claim ${names.claim} is not bound`];
  const volume = await cluster.find(volumeShape, "persistentvolume", spec.volumeName);
  const driver = volume?.spec.csi?.driver;
  if (driver === undefined) {
    return [
      `the volume ${spec.volumeName} of ${names.claim} is of no CSI driver, and has no snapshots: move the data to a storage class of one that takes them`,
    ];
  }
  const classes = await cluster.list(classShape, "volumesnapshotclass");
  if (snapshotClass !== undefined) {
    const named = classes.find(({ metadata }) => metadata.name === snapshotClass);
    if (named?.driver === driver) return [];
    const found = named === undefined ? "the cluster does not have" : `is of the driver ${named.driver}`;
    return [
      `volumeSnapshots names the VolumeSnapshotClass ${snapshotClass}, which ${found}; the volume's driver is ${driver}: name one of that`,
    ];
  }
  const ofDriver = classes.filter(
    (each) => each.driver === driver && each.metadata.annotations[defaultClass] === "true",
  );
  if (ofDriver.length === 1) return [];
  const found = ofDriver.length === 0 ? "no default VolumeSnapshotClass" : "several default VolumeSnapshotClasses";
  return [
    `the cluster has ${found} of the driver ${driver}, which the node's volume is of: annotate one with ${defaultClass}=true, or name it under className in the stack's volumeSnapshots`,
  ];
}

async function checkData(
  place: KubernetesPlace & WorkLocation,
  dependencies: ScaleDependencies,
): Promise<Omit<PlatformCheck, "toolImage">> {
  let printed: string;
  const own = randomBytes(4).toString("hex");
  const pod = {
    name: `${names.look}-${own}`,
    owner: own,
    action: "look",
    more: [],
    onNodeOfPods: true,
    withinMs: lookMs,
  };
  try {
    printed = await runWorkPod(place, pod, dependencies);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return { ...nothing, problems: [`the node's data can't be looked at: ${error.message}`] };
  }
  const found = parseVolumeReport(printed, names.claim);
  const { bytes, conf, copies } = found;
  return {
    conf,
    clones: hasRoomFor(found),
    copyWords: `it is of ${formatSize(bytes)} of data`,
    problems: copies.map((id) =>
      explainCopy(`the claim ${names.claim}`, formatDiscardCommand(place.target, { ...place, id })),
    ),
    warnings: [
      ...listLeftovers(found, names.claim),
      ...(hasRoomFor(found) ? [] : [explainRoom(await findClaim(dependencies.cluster))]),
    ],
  };
}

function explainRoom(claim: NodeClaim | undefined): string {
  const size = claim?.status.capacity?.storage ?? "unknown";
  return `${names.claim} (${size}) has no room for the old data next to what the new version makes of them: on the way back the latter are deleted, and not kept for a look at what went wrong`;
}
