import { log } from "@pulumi/pulumi";
import { Gatehouse } from "./components/gatehouse.ts";
import type { StackConfig } from "./config/config-schema.ts";
import type { Platform } from "./platform.ts";
import { warnOfWatching } from "./services/observability-args.ts";
import { stackArgs } from "./services/stack-specs.ts";
import { deploymentSecret } from "./config/stack-input.ts";

/** Where the program runs, and what its resources are called by. */
export type StackPlace = Readonly<{
  /** Begins the names of the stack's resources, e.g. `gatehouse-dev`. */
  prefix: string;
  /** The repository's root: the context of the images' build. */
  root: string;
}>;

/**
 * Registers every resource of a stack with Pulumi. Each target's SDK is loaded only where it is used; they take a second of a
 * program's start.
 *
 * @returns the component, with what its services were given.
 * @throws {ConfigError} with what the services would refuse.
 */
export async function deployStack(config: StackConfig, { prefix, root }: StackPlace): Promise<Gatehouse> {
  const platform: Platform =
    config.target === "docker"
      ? await (await import("./docker/docker-stack.ts")).createDockerHost(config, { prefix, root })
      : (await import("./kubernetes/kubernetes-stack.ts")).createKubernetesNamespace(config, prefix);
  for (const warning of warnOfWatching(config)) void log.warn(warning);
  const { addresses, published, restart } = platform;
  return new Gatehouse(prefix, {
    ...stackArgs(config, { prefix, addresses, published, restart, secret: deploymentSecret }),
    platform,
  });
}
