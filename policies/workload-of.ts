import { dockerWorkload } from "./docker-workload.ts";
import { kubernetesWorkload } from "./kubernetes-workload.ts";
import type { PolicyResource } from "./rule.ts";
import type { Workload } from "./workload.ts";

/** The workload that a resource makes; `undefined` for every other resource. */
export function workloadOf(resource: PolicyResource): Workload | undefined {
  return dockerWorkload(resource) ?? kubernetesWorkload(resource);
}
