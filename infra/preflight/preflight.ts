import { homedir } from "node:os";
import type { StackConfig } from "../config/config-schema.ts";
import { ConfigError, describeMissing, findRootKey, type ConfigProblem } from "../config/config-problem.ts";
import { findServiceProblems } from "../services/built-stack.ts";
import { findSignerKey, findStackSecret, hasRemoteSigner } from "../services/node/dev-accounts.ts";
import { findMissingKeys, keyFiles } from "../services/node/node-keys.ts";
import { findMissingNodeValues } from "../services/node/node-image.ts";
import { findDockerProblems, findPortConflicts, probePort } from "./docker-preflight.ts";
import { createEngineClient } from "../docker/engine.ts";
import { hostCapacity } from "./host-capacity.ts";
import { findContextProblems } from "./kubernetes-context.ts";
import { statSync } from "node:fs";
import { join } from "node:path";

/** Names, environment and provider, which together with the configuration determine whether a stack can be deployed. */
export type PreflightContext = Readonly<{
  prefix: string;
  environment: Readonly<Record<string, string | undefined>>;
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
export async function preflight(config: StackConfig, context: PreflightContext): Promise<void> {
  const { prefix, problems: found = [] } = context;
  const rejected = new Set(found.map(({ key }) => findRootKey(key)));
  const others = [
    ...findMissingValues(config),
    ...findServiceProblems(config, prefix),
    ...(await findTargetProblems(config, context)),
  ];
  // An invalid value is omitted from the configuration, but counts neither as missing nor as the default.
  const problems = [...found, ...others.filter(({ key }) => !rejected.has(findRootKey(key)))];
  if (problems.length > 0) throw new ConfigError(problems);
}

/** The problem of combining a provider with `renderTo`: the objects would go to the provider's cluster, unchecked. */
const renderedByAProvider: ConfigProblem = {
  key: "renderTo",
  message:
    "found together with an explicit or inherited provider, which applies to its own cluster and writes no files here. Remove one of the two.",
};

async function findTargetProblems(
  config: StackConfig,
  { prefix, environment, hasProvider = false }: PreflightContext,
): Promise<readonly ConfigProblem[]> {
  if (config.target === "kubernetes") {
    if (config.renderTo !== undefined) return hasProvider ? [renderedByAProvider] : [];
    if (hasProvider) return [];
    return findContextProblems(config.kubernetesContext, {
      kubeconfig: environment["KUBECONFIG"],
      home: homedir(),
      inCluster: environment["KUBERNETES_SERVICE_HOST"] !== undefined,
    });
  }
  const conflicts = findPortConflicts(config);
  const requestEngine = createEngineClient(config.dockerEngine, environment["DOCKER_CERT_PATH"] !== undefined);
  if (requestEngine === undefined) return conflicts;
  const isLocal = config.dockerEngine.startsWith("unix:");
  const keys = isLocal ? findHostKeyProblems(config) : [];
  return [
    ...keys,
    ...conflicts,
    ...(await findDockerProblems(config, {
      ...(isLocal ? { probe: probePort, host: hostCapacity } : { probe: undefined }),
      requestEngine,
      prefix,
    })),
  ];
}

/** Reports missing required values, by the stack's own keys, before the services' schemas report them by theirs. */
export function findMissingValues(config: StackConfig): readonly ConfigProblem[] {
  const { devAccounts, payTo, tokenAddress } = config;
  const isRemote = hasRemoteSigner(config);
  const signer = "the key of the account that submits settlements";
  const random = "random text, e.g. from openssl rand -hex 32, because only remote keys sign";
  return [
    ...findMissingKeys(config),
    ...findMissingNodeValues(config),
    ...requireValue(!isRemote && findSignerKey(config) === undefined, "signerPrivateKey", signer, true),
    ...requireValue(isRemote && findStackSecret(config) === undefined, "stackSecret", random, true),
    ...requireValue(!devAccounts && payTo === undefined, "payTo", "the account that receives payments"),
    ...requireValue(tokenAddress === undefined, "tokenAddress", "the contract of the payment token"),
  ];
}

function requireValue(isMissing: boolean, key: string, expected: string, secret = false): readonly ConfigProblem[] {
  return isMissing ? [describeMissing(key, `missing; expected ${expected}.`, { secret })] : [];
}

/**
 * Lists problems with a node's keys in a directory on the Docker host, which is this machine: a key that is missing, belongs to a user
 * other than the node's, or is readable or writable by anyone but its owner. An engine would create an empty directory in place of a
 * missing key.
 */
export function findHostKeyProblems({ nodeKeysDirectory, nodeUser }: StackConfig): readonly ConfigProblem[] {
  if (nodeKeysDirectory === undefined) return [];
  return Object.values(keyFiles).flatMap((name) => {
    const path = join(nodeKeysDirectory, name);
    const found = readState(path);
    if (typeof found === "string") return [buildProblem(`found no ${path} (${found})`, "Put the key there.")];
    const mode = (found.mode & 0o7777).toString(8).padStart(4, "0");
    if (found.isFile && found.uid === nodeUser && mode === "0400") return [];
    const what = found.isFile ? `${path} with mode ${mode} owned by user ${found.uid}` : `${path}, which is not a file`;
    const right = `mode 0400 owned by user ${nodeUser}, which the node runs as`;
    return [buildProblem(`found ${what}; expected ${right}`, `\`chown ${nodeUser} ${path} && chmod 0400 ${path}\`.`)];
  });
}

function buildProblem(found: string, remedy: string): ConfigProblem {
  return { key: "nodeKeysDirectory", message: `${found}. ${remedy}` };
}

type FileState = Readonly<{ isFile: boolean; uid: number; mode: number }>;

function readState(path: string): FileState | string {
  try {
    const found = statSync(path);
    return { uid: found.uid, mode: found.mode, isFile: found.isFile() };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
