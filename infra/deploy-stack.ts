import { log } from "@pulumi/pulumi";
import { Gatehouse } from "./components/gatehouse.ts";
import type { ConfigProblem } from "./config/config-problem.ts";
import type { StackConfig } from "./config/config-schema.ts";
import type { Platform, Scope } from "./platform.ts";
import { findMonitoringWarnings } from "./services/observability/observability-args.ts";
import { deploymentSecret } from "./config/pulumi-config.ts";

/** Names, files and parent of a stack's resources, and the handler for its warnings. */
export type StackLocation = Readonly<{
  /** Prefix of the stack's resource names, e.g. `gatehouse-dev`. */
  prefix: string;
  /** The root of the repository: the build context for the images. */
  root: string;
  scope?: Scope | undefined;
  /** Reports a warning about a key; defaults to Pulumi's log, with wording for a stack's configuration. */
  warn?: ((warning: ConfigProblem) => void) | undefined;
}>;

/**
 * Registers every resource of a stack with Pulumi. The SDK for each target is loaded only when used, because loading it adds a second to a
 * program's start.
 *
 * @returns the component, with the configuration given to its services.
 * @throws {ConfigError} with the settings that the services would reject.
 */
export async function deployStack(
  config: StackConfig,
  { prefix, root, scope, warn = ({ key, message }) => void log.warn(`${key}: ${message}`) }: StackLocation,
): Promise<Gatehouse> {
  const platform: Platform =
    config.target === "docker"
      ? await (await import("./docker/docker-stack.ts")).createDockerHost(config, { prefix, root, scope })
      : (await import("./kubernetes/kubernetes-stack.ts")).createKubernetesNamespace(config, { prefix, scope, warn });
  for (const warning of findMonitoringWarnings(config)) warn(warning);
  return new Gatehouse(prefix, { config, platform, secret: deploymentSecret }, scope && { parent: scope.parent });
}
