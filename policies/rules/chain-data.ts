import type { PolicyResource, ResourceRule } from "../rule.ts";
import { readFields, readItems, readText } from "../values.ts";
import { findWorkload } from "../workload-of.ts";

/** Names of volumes and claims whose content can't be recreated within an hour: chain data and ledgers. */
const irreplaceable = /workspace|ledger|chain|postgres(?!-files)/;

/** Paths to chain data and node.conf in the node's container. Programs and keys in adjacent directories can be recreated. */
const chainDataPaths = new Set(["/data", "/data/data", "/data/conf"]);

export const chainData: ResourceRule = {
  scope: "resource",
  name: "chain-data",
  severity: "critical",
  why: "Chain data takes days to resync, and a lost ledger loses payments in flight.",
  remedy:
    "Protect the volume or claim (protect: true, retainOnDelete: true), and never store it in an emptyDir or tmpfs.",
  check: (resource) => [...checkProtection(resource), ...checkMounts(resource), ...checkClaims(resource)],
};

function checkProtection({ type, name, props, protect }: PolicyResource): readonly string[] {
  if (protect) return [];
  // Bind mount of a directory of another volume; it contains no other data.
  if (readFields(props["driverOpts"])["o"] === "bind") return [];
  if (type === "docker:index/volume:Volume" && irreplaceable.test(readText(props["name"]) ?? name)) {
    return ["contains chain data or a ledger but is not protected"];
  }
  if (type === "kubernetes:core/v1:PersistentVolumeClaim") {
    const claim = readText(readFields(props["metadata"])["name"]) ?? name;
    return irreplaceable.test(claim) ? ["contains chain data or a ledger but is not protected"] : [];
  }
  return [];
}

function checkMounts(resource: PolicyResource): readonly string[] {
  const workload = findWorkload(resource);
  if (workload === undefined || workload.service() !== "node") return [];
  return workload
    .containers()
    .flatMap((container) => container.mounts())
    .filter((mount) => chainDataPaths.has(mount.path) && mount.temporary)
    .map((mount) => `stores chain data (${mount.path}) in a volume that is deleted with the pod`);
}

function checkClaims({ type, props }: PolicyResource): readonly string[] {
  if (type !== "kubernetes:apps/v1:StatefulSet") return [];
  const spec = readFields(props["spec"]);
  if (readItems(spec["volumeClaimTemplates"]).length === 0) return [];
  const policy = readFields(spec["persistentVolumeClaimRetentionPolicy"]);
  return [policy["whenDeleted"], policy["whenScaled"]].includes("Delete")
    ? ["deletes its claims with the StatefulSet or its replicas"]
    : [];
}
