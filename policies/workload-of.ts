import { readDockerWorkload } from "./docker-workload.ts";
import { readKubernetesWorkload } from "./kubernetes-workload.ts";
import type { PolicyResource } from "./rule.ts";
import type { Workload, Container } from "./workload.ts";

export function findWorkload(resource: PolicyResource): Workload | undefined {
  return readDockerWorkload(resource) ?? readKubernetesWorkload(resource);
}

/** Checks every container of a resource; findings include the container name if there are several. */
export function checkContainers(
  resource: PolicyResource,
  check: (container: Container, workload: Workload) => readonly string[],
): readonly string[] {
  const workload = findWorkload(resource);
  if (workload === undefined) return [];
  const containers = workload.containers();
  return containers.flatMap((container) =>
    check(container, workload).map((finding) =>
      containers.length === 1 ? finding : `container ${container.name}: ${finding}`,
    ),
  );
}
