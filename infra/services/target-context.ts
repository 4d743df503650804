import { isLoopback } from "#daemon/http/address.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { dockerAddresses, kubernetesAddresses } from "./addresses.ts";
import type { StackContext } from "./stack-specs.ts";

/** The target-specific parts of service arguments. */
export type TargetContext = Pick<StackContext, "addresses" | "published" | "restart">;

/** Describes a Docker host that publishes its public ports on the given address. */
export function describeDockerHost({ prefix, publishAddress }: Readonly<{ prefix: string; publishAddress: string }>) {
  return {
    addresses: dockerAddresses,
    published: {
      isPublicLoopback: isLoopback(publishAddress),
      namesOf: (service) => [service, `${prefix}-${service}`],
    },
    restart: { driver: "docker", container: `${prefix}-node`, exec: `docker exec ${prefix}-sidecar` },
  } as const satisfies TargetContext;
}

/** Describes the target of a stack, before any of its resources are registered. */
export function describeTarget({ target, publishAddress, nodeRestart }: StackConfig, prefix: string): TargetContext {
  if (target === "docker") return describeDockerHost({ prefix, publishAddress });
  return {
    addresses: kubernetesAddresses,
    restart: { driver: "kubernetes", strategy: nodeRestart, pod: "node-0", exec: "kubectl exec node-0 --" },
  };
}
