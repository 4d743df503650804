import { findImageDisagreement, lintNodeConfiguration } from "../node-configuration.ts";
import type { PolicyResource, StackFinding, StackRule } from "../rule.ts";
import { readFields, readItems, readText } from "../values.ts";
import { findWorkload } from "../workload-of.ts";
import type { Variable } from "../workload.ts";

/** Sidecar settings that must not be `false`, each with the consequence of `false`. */
const requiredSettings: Readonly<Record<string, string>> = {
  GATEHOUSE_SIDECAR_PRUNE_ENABLED: "auto-pruning is not enabled, so the node's disk fills",
  GATEHOUSE_SIDECAR_MONITOR_ENABLED: "the node pushes no metrics",
};

export const nodeConfiguration: StackRule = {
  scope: "stack",
  name: "node-configuration",
  severity: "high",
  why: "A node with another version's metrics keys silently pushes nothing; one without auto-pruning fills its disk.",
  remedy:
    "Keep prune.enabled and monitor.enabled on, configure the sidecar with the image's version, and use that version's key names.",
  check: (resources) => {
    const sidecars = resources.flatMap(findSidecar);
    return [
      ...sidecars.flatMap(({ resource, variables }) => checkSettings(resource, variables)),
      ...sidecars.flatMap(({ resource, variables }) => checkVersion(resource, variables)),
      ...resources.flatMap((resource) => checkRendered(resource, sidecars.at(0)?.variables ?? [])),
    ];
  },
};

type Sidecar = Readonly<{ resource: string; variables: readonly Variable[] }>;

function findSidecar(resource: PolicyResource): readonly Sidecar[] {
  const workload = findWorkload(resource);
  // Skip other Docker containers: at preview, the variables of a container without any are unknown.
  if (workload === undefined || (workload.kind === "docker" && workload.service() !== "sidecar")) return [];
  const variables = workload
    .containers()
    // A one-shot container is not a sidecar; if it is replaced, its environment is unknown at preview.
    .filter((container) => !container.oneShot())
    .map((container) => container.variables())
    .find((all) => all.some(({ name }) => name.startsWith("GATEHOUSE_SIDECAR_")));
  return variables === undefined ? [] : [{ resource: resource.name, variables }];
}

function checkSettings(resource: string, variables: readonly Variable[]): readonly StackFinding[] {
  return variables
    .filter(({ name, value }) => requiredSettings[name] !== undefined && value?.trim() === "false")
    .map(({ name }) => ({ resource, message: `${name} is false: ${requiredSettings[name] ?? ""}` }));
}

function checkVersion(resource: string, variables: readonly Variable[]): readonly StackFinding[] {
  const version = findValue(variables, "GATEHOUSE_SIDECAR_NODE_VERSION");
  const image = findValue(variables, "GATEHOUSE_SIDECAR_NODE_IMAGE");
  const message = version === undefined || image === undefined ? undefined : findImageDisagreement(version, image);
  return message === undefined ? [] : [{ resource, message }];
}

function findValue(variables: readonly Variable[], name: string): string | undefined {
  return variables.find((variable) => variable.name === name)?.value;
}

function checkRendered(resource: PolicyResource, variables: readonly Variable[]): readonly StackFinding[] {
  const version = findValue(variables, "GATEHOUSE_SIDECAR_NODE_VERSION");
  if (version === undefined) return [];
  return listRendered(resource).flatMap((configuration) =>
    lintNodeConfiguration(configuration, version).map((finding) => ({
      resource: resource.name,
      message: `node.conf ${finding}`,
    })),
  );
}

function listRendered({ type, props }: PolicyResource): readonly string[] {
  if (type === "kubernetes:core/v1:ConfigMap") return [readText(readFields(props["data"])["node.conf"]) ?? []].flat();
  if (type !== "docker:index/container:Container") return [];
  return readItems(props["uploads"])
    .map(readFields)
    .flatMap((upload) =>
      readText(upload["file"])?.endsWith("/node.conf") === true ? (readText(upload["content"]) ?? []) : [],
    );
}
