import type { Manifest } from "#infra/testing/deployed-stack.ts";
import type { ApiServer } from "./api-server.ts";
import type { ClusterObject } from "./cluster-client.ts";

/** Kinds of objects that must exist before those that refer to them. */
const first = ["Namespace", "ServiceAccount", "Role"];

const rank = ({ kind }: Manifest) => (first.includes(kind) ? first.indexOf(kind) : first.length);

type PodSpec = Readonly<{ serviceAccountName?: string }>;
type Template = Readonly<{ metadata: object; spec: PodSpec }>;

export async function applyStack(
  cluster: ApiServer,
  manifests: readonly Manifest[],
  mode: "for real" | "dry run" = "for real",
): Promise<readonly string[]> {
  const findings: string[] = [];
  for (const manifest of manifests.toSorted((a, b) => rank(a) - rank(b))) {
    const finding = await cluster.apply(manifest as ClusterObject, mode);
    if (finding !== undefined) findings.push(finding);
  }
  return findings;
}

/** Lists the pods that a cluster's controllers would create for a stack's workloads, named like a StatefulSet's. */
export function listPods(manifests: readonly Manifest[]): readonly ClusterObject[] {
  return manifests.flatMap(({ kind, metadata, spec }) => {
    const template = findTemplate(kind, spec);
    if (template === undefined) return [];
    const { namespace = "default" } = metadata;
    const named = { ...template.metadata, name: `${metadata.name}-0`, namespace };
    return [{ apiVersion: "v1", kind: "Pod", metadata: named, spec: template.spec }];
  });
}

function findTemplate(kind: string, spec: Manifest["spec"]): Template | undefined {
  if (kind === "CronJob") return (spec["jobTemplate"] as { spec: { template: Template } }).spec.template;
  return kind === "Deployment" || kind === "StatefulSet" ? (spec["template"] as Template) : undefined;
}

/** Builds the account of pods without their own. The cluster's controllers would create it. */
export function buildDefaultAccount(namespace: string): ClusterObject {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } };
}
