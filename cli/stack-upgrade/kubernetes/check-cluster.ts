import { formatSize } from "#sidecar/upgrade/data-size.ts";
import { formatKubectlCommand } from "../stack-commands.ts";
import { PlatformError, type PlatformCheck } from "../stack-platform.ts";
import type { KubernetesTarget } from "../stack-record.ts";
import { explainCopy, parseVolumeReport, workspaceProgram } from "../workspace-report.ts";
import { findClaim, listUpgradeSnapshots } from "./claim-snapshot.ts";
import type { Cluster } from "./kubectl.ts";
import { names, podFinalizer, snapshotGroup } from "./kubernetes-names.ts";
import { findNodeContainer, findPod, findNodeUser, findWorkload, type Pod, type Workload } from "./workload.ts";

type KubernetesLocation = Readonly<{ prefix: string; target: KubernetesTarget }>;

/** Directory of the node's volume in the sidecar. */
const workspace = "/data";

/** Permissions needed by all steps of an upgrade and its rollback. Missing permissions must be detected before the node is stopped. */
const requiredPermissions = [
  ...["get", "patch"].map((verb) => `${verb} statefulsets.apps`),
  ...["get", "create", "patch", "delete"].map((verb) => `${verb} pods`),
  "get pods/log",
  "create pods/exec",
  ...["get", "create", "delete"].map((verb) => `${verb} persistentvolumeclaims`),
  ...["get", "list", "create", "delete"].map((verb) => `${verb} volumesnapshots.${snapshotGroup}`),
];

export async function checkCluster(location: KubernetesLocation, cluster: Cluster): Promise<PlatformCheck> {
  const { namespace, context } = location.target;
  const emptyCheck = { warnings: [], toolImage: undefined, conf: undefined, copyWords: "" };
  const missingPermissions = await cluster.findMissingPermissions(requiredPermissions);
  if (missingPermissions.length > 0) {
    const where = `in the namespace ${namespace}${context === undefined ? "" : ` of ${context}`}`;
    const advice = "have the permission granted, or use another context of the kubeconfig";
    return { ...emptyCheck, problems: missingPermissions.map((right) => `you may not ${right} ${where}; ${advice}`) };
  }
  const workload = await findWorkload(cluster);
  const problems = [
    ...findWorkloadProblems(workload, location),
    ...findPodProblems(await findPod(cluster), location.target),
    ...(await findSnapshotProblems(location.target, cluster)),
  ];
  const toolImage = findToolImage(workload);
  if (problems.length > 0 || toolImage === undefined) return { ...emptyCheck, problems };
  try {
    const reportText = await cluster.exec(names.pod, names.sidecar, ["node", workspaceProgram, "look", workspace]);
    const { bytes, conf } = parseVolumeReport(reportText, names.claim);
    return { ...emptyCheck, problems, toolImage, conf, copyWords: `of ${formatSize(bytes)} of data` };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    const advice = "if the stack is from an earlier release, run pulumi up with this one first";
    return { ...emptyCheck, problems: [`the node's data can't be inspected (${error.message}); ${advice}`] };
  }
}

function* findWorkloadProblems(
  workload: Workload | undefined,
  { prefix, target }: KubernetesLocation,
): Generator<string> {
  const name = `the StatefulSet ${names.workload} of ${target.namespace}`;
  if (workload === undefined) return yield `${name} does not exist; run pulumi up to create it`;
  const { metadata, spec } = workload;
  if (metadata.labels["app.kubernetes.io/instance"] !== prefix)
    yield `${name} does not belong to a stack ${prefix}; select the stack that it belongs to (--stack)`;
  if (spec.replicas !== 1) yield `${name} is scaled to ${spec.replicas}; run pulumi up first`;
  if (findNodeUser(workload) === undefined || findToolImage(workload) === undefined) {
    yield `${name} is not as this release deploys it; run pulumi up with this release first`;
  }
  const mounts = findNodeContainer(spec.template.spec)?.volumeMounts ?? [];
  if (mounts.some(({ name: volume, subPath }) => volume === names.claim && subPath === undefined)) {
    yield "the node mounts its whole volume, as in an earlier release; run pulumi up with this release first";
  }
}

function* findPodProblems(pod: Pod | undefined, target: KubernetesTarget): Generator<string> {
  const describeStatefulSet = formatKubectlCommand(target, "describe", "statefulset", names.workload);
  if (pod === undefined) return yield `there is no pod ${names.pod}; ${describeStatefulSet} shows why`;
  const describePod = formatKubectlCommand(target, "describe", "pod", names.pod);
  const status = pod.status.containerStatuses.find(({ name }) => name === names.node);
  if (status?.state.running === undefined)
    yield `the container ${names.node} of the pod ${names.pod} is not running; ${describePod} shows why`;
  if (findNodeContainer(pod.spec) === undefined)
    yield `the pod ${names.pod} has no container ${names.node}; run pulumi up first`;
  if (pod.metadata.finalizers.includes(podFinalizer)) {
    const change = JSON.stringify({ metadata: { finalizers: null } });
    const command = formatKubectlCommand(target, "patch", "pod", names.pod, "--type=merge", `--patch=${change}`);
    yield `another upgrade keeps the pod ${names.pod}: continue it where it was started (--continue), or release the pod if there is no such upgrade: ${command}`;
  }
}

function findToolImage(workload: Workload | undefined): string | undefined {
  return workload?.spec.template.spec.initContainers.find(({ name }) => name === names.sidecar)?.image;
}

async function findSnapshotProblems(target: KubernetesTarget, cluster: Cluster): Promise<readonly string[]> {
  if (!(await cluster.serves(`${snapshotGroup}/v1`))) {
    return [
      `the cluster has no VolumeSnapshots (${snapshotGroup}), which keep the node's data for a rollback: install the snapshot controller with its definitions, and a driver that takes snapshots`,
    ];
  }
  const claim = await findClaim(cluster);
  if (claim?.status.phase !== "Bound")
    return [
      `there is no bound claim ${names.claim}; ${formatKubectlCommand(target, "describe", "persistentvolumeclaim", names.claim)} shows why`,
    ];
  const left = await listUpgradeSnapshots(cluster);
  return left.map(({ metadata: { name } }) =>
    explainCopy(`the VolumeSnapshot ${name}`, formatKubectlCommand(target, "delete", "volumesnapshot", name)),
  );
}
