import { homedir } from "node:os";
import type { StackConfig } from "../config/config-schema.ts";
import { ConfigError, type ConfigProblem } from "../config/config-problem.ts";
import { dockerProblems, probePort } from "./docker-preflight.ts";
import { createEngineClient } from "./engine-client.ts";
import { hostKeyProblems } from "./host-keys.ts";
import { contextProblems } from "./kubernetes-context.ts";
import { missingValues } from "./missing-values.ts";
import { registryProblems } from "./registry-images.ts";

/** What the program looks at beside its configuration. */
export type Surroundings = Readonly<{ prefix: string; environment: Readonly<Record<string, string | undefined>> }>;

/**
 * Looks whether a stack can be deployed at all, before Pulumi is told of anything: what is missing, an engine that does not answer,
 * taken ports, images that are nowhere, a context that the kubeconfig does not have.
 *
 * @throws {ConfigError} with all of it at once, a line each.
 */
export async function preflight(config: StackConfig, surroundings: Surroundings): Promise<void> {
  const problems = [...missingValues(config), ...(await targetProblems(config, surroundings))];
  if (problems.length > 0) throw new ConfigError(problems);
}

async function targetProblems(
  config: StackConfig,
  { prefix, environment }: Surroundings,
): Promise<readonly ConfigProblem[]> {
  if (config.target === "kubernetes") {
    if (config.renderTo !== undefined) return [];
    const context = contextProblems(config.kubernetesContext, {
      kubeconfig: environment["KUBECONFIG"],
      home: homedir(),
      inCluster: environment["KUBERNETES_SERVICE_HOST"] !== undefined,
    });
    return [...context, ...(await registryProblems(config, { fetch }))];
  }
  const ask = createEngineClient(config.dockerEngine, environment["DOCKER_CERT_PATH"] !== undefined);
  if (ask === undefined) return [];
  const isHere = config.dockerEngine.startsWith("unix:");
  const keys = isHere ? hostKeyProblems(config) : [];
  return [...keys, ...(await dockerProblems(config, { ask, probe: isHere ? probePort : undefined, prefix }))];
}
