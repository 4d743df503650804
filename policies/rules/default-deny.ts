import type { PolicyResource, StackRule } from "../rule.ts";
import { readFields, readItems, readText } from "../values.ts";
import { findWorkload } from "../workload-of.ts";
import type { Workload } from "../workload.ts";

export const defaultDeny: StackRule = {
  scope: "stack",
  name: "default-deny",
  severity: "high",
  why: "In a namespace without a default-deny policy every pod of the cluster reaches every service.",
  remedy:
    "Kubernetes: a NetworkPolicy without rules that selects every pod of the namespace, or every pod of the stack. Docker: a separate network for the stack, not the default one.",
  check: (resources) => [...findOpenNamespaces(resources), ...findDefaultNetworks(resources)],
};

function findOpenNamespaces(resources: readonly PolicyResource[]): ReturnType<StackRule["check"]> {
  const denials = resources.filter(isDenial);
  return resources
    .filter((resource) => {
      const workload = findWorkload(resource);
      return workload?.kind === "kubernetes" && !denials.some((denial) => isDenied(resource, workload, denial));
    })
    .map((resource) => ({
      resource: resource.name,
      message: `runs in the namespace ${readNamespace(resource)}, which has no default-deny NetworkPolicy`,
    }));
}

function isDenied(resource: PolicyResource, { podLabels }: Workload, denial: PolicyResource): boolean {
  const { matchLabels, ...others } = readFields(readFields(denial.props["spec"])["podSelector"]);
  const labels = Object.entries(readFields(matchLabels));
  return (
    readNamespace(resource) === readNamespace(denial) &&
    Object.keys(others).length === 0 &&
    labels.every(([key, value]) => podLabels()[key] === value)
  );
}

function isDenial({ type, props }: PolicyResource): boolean {
  if (type !== "kubernetes:networking.k8s.io/v1:NetworkPolicy") return false;
  const spec = readFields(props["spec"]);
  const kinds = readItems(spec["policyTypes"]);
  const hasNoRules = readItems(spec["ingress"]).length === 0 && readItems(spec["egress"]).length === 0;
  return hasNoRules && kinds.includes("Ingress") && kinds.includes("Egress");
}

function readNamespace({ props }: PolicyResource): string {
  return readText(readFields(props["metadata"])["namespace"]) ?? "default";
}

function findDefaultNetworks(resources: readonly PolicyResource[]): ReturnType<StackRule["check"]> {
  return resources
    .filter(({ type, props }) => {
      if (type !== "docker:index/container:Container") return false;
      const own = readItems(props["networksAdvanced"]).length > 0;
      return !own && props["networkMode"] !== "none";
    })
    .map(({ name }) => ({
      resource: name,
      message: "joins the engine's default network, where every container can reach it",
    }));
}
