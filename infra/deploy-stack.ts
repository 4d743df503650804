import { log } from "@pulumi/pulumi";
import { Gatehouse } from "./components/gatehouse.ts";
import type { ConfigProblem } from "./config/config-problem.ts";
import type { StackConfig } from "./config/config-schema.ts";
import type { Platform, Scope } from "./platform.ts";
import { warnOfWatching } from "./services/observability/observability-args.ts";
import { stackArgs } from "./services/stack-specs.ts";
import { deploymentSecret } from "./config/pulumi-config.ts";

/** Names, files and parent of a stack's resources, and where its warnings go. */
export type StackPlace = Readonly<{
  /** Prefix of the stack's resource names, e.g. `gatehouse-dev`. */
  prefix: string;
  /** The repository's root: the context of the images' build. */
  root: string;
  /** Component that the resources belong to; absent: they are the program's own. */
  scope?: Scope | undefined;
  /** Reports a warning about a key; default is Pulumi's log, in the words for a stack's configuration. */
  warn?: ((warning: ConfigProblem) => void) | undefined;
}>;

/**
 * Registers every resource of a stack with Pulumi. Each target's SDK is loaded only where it is used; they take a second of a
 * program's start.
 *
 * @returns the component, with what its services were given.
 * @throws {ConfigError} with what the services would refuse.
 */
export async function deployStack(
  config: StackConfig,
  { prefix, root, scope, warn = ({ key, message }) => void log.warn(`${key}: ${message}`) }: StackPlace,
): Promise<Gatehouse> {
  const platform: Platform =
    config.target === "docker"
      ? await (await import("./docker/docker-stack.ts")).createDockerHost(config, { prefix, root, scope })
      : (await import("./kubernetes/kubernetes-stack.ts")).createKubernetesNamespace(config, { prefix, scope, warn });
  for (const warning of warnOfWatching(config)) warn(warning);
  const { addresses, published, restart } = platform;
  return new Gatehouse(
    prefix,
    { ...stackArgs(config, { prefix, addresses, published, restart, secret: deploymentSecret }), platform },
    scope && { parent: scope.parent },
  );
}
