import type { PolicyResource } from "../rule.ts";
import { workloadOf } from "../workload-of.ts";
import type { Container, Workload } from "../workload.ts";

/** Asks every container of a resource; the answers name the container where the resource has several. */
export function checkContainers(
  resource: PolicyResource,
  check: (container: Container, workload: Workload) => readonly string[],
): readonly string[] {
  const workload = workloadOf(resource);
  if (workload === undefined) return [];
  const containers = workload.containers();
  return containers.flatMap((container) =>
    check(container, workload).map((finding) =>
      containers.length === 1 ? finding : `container ${container.name}: ${finding}`,
    ),
  );
}
