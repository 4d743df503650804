import { homedir } from "node:os";
import { secretKeys, type StackConfig } from "../config/config-schema.ts";
import { ConfigError, describeProblem, type ConfigProblem } from "../config/config-problem.ts";
import { findRootKey } from "../config/problem-parts.ts";
import { findServiceProblems } from "../services/built-stack.ts";
import { findMissingKeys } from "../services/node/node-keys.ts";
import { findMissingNodeValues } from "../services/node/node-image.ts";
import { findDockerProblems, probePort } from "./docker-preflight.ts";
import { createEngineClient } from "./engine-client.ts";
import { hostCapacity } from "./host-capacity.ts";
import { findHostKeyProblems } from "./host-keys.ts";
import { findContextProblems } from "./kubernetes-context.ts";
import { findRegistryProblems } from "./registry-images.ts";

/** Names, environment and provider, which together with the configuration determine whether a stack can be deployed. */
export type Surroundings = Readonly<{
  prefix: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** Problems already found while parsing. */
  problems?: readonly ConfigProblem[];
  /** Whether the program was given a provider for the cluster or engine, which replaces the one in the configuration; default: no. */
  hasProvider?: boolean;
}>;

/**
 * Checks whether a stack can be deployed before Pulumi starts: missing values, settings that a service would reject, an engine that does
 * not respond, a host that is too small, ports in use, images that don't exist, a context missing from the kubeconfig.
 *
 * @throws {ConfigError} with all problems at once, one per line.
 */
export async function preflight(config: StackConfig, surroundings: Surroundings): Promise<void> {
  const { prefix, problems: found = [] } = surroundings;
  const rejected = new Set(found.map(({ key }) => findRootKey(key)));
  const others = [
    ...findMissingValues(config),
    ...findServiceProblems(config, prefix),
    ...(await findTargetProblems(config, surroundings)),
  ];
  // An invalid value is omitted from the configuration, but counts neither as missing nor as the default.
  const problems = [...found, ...others.filter(({ key }) => !rejected.has(findRootKey(key)))];
  if (problems.length > 0) throw new ConfigError(problems);
}

/** The problem of combining a provider with `renderTo`: the objects would go to the provider's cluster, unchecked. */
const renderedByAProvider: ConfigProblem = {
  key: "renderTo",
  message:
    "found together with a provider, given or inherited, which applies to its own cluster and writes no files here. Remove one of the two.",
};

async function findTargetProblems(
  config: StackConfig,
  { prefix, environment, hasProvider = false }: Surroundings,
): Promise<readonly ConfigProblem[]> {
  if (config.target === "kubernetes") {
    if (config.renderTo !== undefined) return hasProvider ? [renderedByAProvider] : [];
    const context = hasProvider
      ? []
      : findContextProblems(config.kubernetesContext, {
          kubeconfig: environment["KUBECONFIG"],
          home: homedir(),
          inCluster: environment["KUBERNETES_SERVICE_HOST"] !== undefined,
        });
    return [...context, ...(await findRegistryProblems(config, { fetch }))];
  }
  const requestEngine = createEngineClient(config.dockerEngine, environment["DOCKER_CERT_PATH"] !== undefined);
  if (requestEngine === undefined) return [];
  const isHere = config.dockerEngine.startsWith("unix:");
  const keys = isHere ? findHostKeyProblems(config) : [];
  return [
    ...keys,
    ...(await findDockerProblems(config, {
      ...(isHere ? { probe: probePort, host: hostCapacity } : { probe: undefined }),
      requestEngine,
      prefix,
    })),
  ];
}

/** Reports missing required values, by the stack's own keys, before the services' schemas report them by theirs. */
export function findMissingValues(config: StackConfig): readonly ConfigProblem[] {
  const { devAccounts, signerPrivateKey, payTo, tokenAddress } = config;
  return [
    ...findMissingKeys(config),
    ...findMissingNodeValues(config),
    ...(devAccounts || signerPrivateKey !== undefined
      ? []
      : [describeMissing("signerPrivateKey", "the key of the account that submits settlements")]),
    ...(devAccounts || payTo !== undefined ? [] : [describeMissing("payTo", "the account that is paid")]),
    ...(tokenAddress !== undefined
      ? []
      : [describeMissing("tokenAddress", "the contract of the token that prices are charged in")]),
  ];
}

function describeMissing(key: string, expected: string): ConfigProblem {
  const secret = secretKeys.some((name) => name === key);
  return describeProblem(key, {
    wrong: `missing; expected ${expected}.`,
    remedy: ["Set it", { kind: "set", key, secret }, "."],
  });
}
