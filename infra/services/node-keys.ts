import type { StackConfig } from "../config/config-schema.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { FileSpec, ForeignFiles } from "./service-spec.ts";

/** A real node's keys (specification, `secret_config`), by where they come from; each ends as a file of mode 0400 of the node's user. */
export type NodeKeys = Readonly<{
  /** Keys that Pulumi keeps encrypted. */
  files: readonly FileSpec[];
  /** Keys that stand ready: in a Secret of the namespace, or in a directory of the Docker host. */
  foreign: ForeignFiles | undefined;
}>;

/** Names of the files, as node.conf's `domain_key_path` and `stabilizing_key_path` end. */
export const keyFiles = { domainKey: "domain.key", stabilizingKey: "stabilizing.key" } as const;

const keyNames = ["domainKey", "stabilizingKey"] as const;

/** A stack's keys of its node; the devnet has none. */
export function readNodeKeys(config: StackConfig, secret: (text: string) => DeploymentSecret): NodeKeys {
  const names = Object.values(keyFiles);
  const { nodeKeysSecret, nodeKeysDirectory } = config;
  if (config.nodeImage === undefined) return { files: [], foreign: undefined };
  if (nodeKeysSecret !== undefined) return { files: [], foreign: { kind: "secret", name: nodeKeysSecret, names } };
  if (nodeKeysDirectory !== undefined) {
    return { files: [], foreign: { kind: "host", directory: nodeKeysDirectory, names } };
  }
  const files = keyNames.flatMap((key) => {
    const content = config[key];
    return content === undefined ? [] : [{ name: keyFiles[key], content: secret(content).value, secret: true }];
  });
  return { files, foreign: undefined };
}

/** What is wrong with how a stack names its node's keys: each from one place, and a place that its target has. */
export function findNodeKeyProblems(config: StackConfig): readonly ConfigProblem[] {
  const given = keyNames.filter((key) => config[key] !== undefined);
  const { nodeImage, nodeKeysSecret, nodeKeysDirectory, target } = config;
  const ready = [
    ...(nodeKeysSecret === undefined ? [] : (["nodeKeysSecret"] as const)),
    ...(nodeKeysDirectory === undefined ? [] : (["nodeKeysDirectory"] as const)),
  ];
  const [one = "", another] = [...ready, ...given];
  if (nodeImage === undefined) {
    const message = "found without nodeImage; the devnet node has no keys. Remove it with `pulumi config rm`.";
    return [...ready, ...given].map((key) => ({ key, message }));
  }
  const foreignTarget = target === "docker" ? "nodeKeysSecret" : "nodeKeysDirectory";
  if (ready.includes(foreignTarget)) {
    const message = `found together with target ${target}, which has no such thing. Remove it with \`pulumi config rm ${foreignTarget}\`.`;
    return [{ key: foreignTarget, message }];
  }
  if (ready.length > 0 && another !== undefined) {
    const message = `found together with ${another}; the keys come from one place. Remove one of the two with \`pulumi config rm\`.`;
    return [{ key: one, message }];
  }
  return [];
}

/** What a real node can't be without, told with every way to give it. */
export function findMissingKeys(config: StackConfig): readonly ConfigProblem[] {
  if (config.nodeImage === undefined) return [];
  if (config.nodeKeysSecret !== undefined || config.nodeKeysDirectory !== undefined) return [];
  return keyNames
    .filter((key) => config[key] === undefined)
    .map((key) => ({
      key,
      message: `missing; expected the node's key that node.conf names as ${confField[key]}. Set it with \`pulumi config set --secret ${key} < ${keyFiles[key]}\`, or ${elsewhere(config)}.`,
    }));
}

const confField = {
  domainKey: "chain.secret_config.domain_key_path",
  stabilizingKey: "chain.secret_config.stabilizing_key_path",
} as const;

function elsewhere({ target, namespace, nodeUser }: StackConfig): string {
  if (target === "docker") {
    return `put ${Object.values(keyFiles).join(" and ")} into a directory of the Docker host, mode 0400, owned by user ${nodeUser ?? "nodeUser"}, and \`pulumi config set nodeKeysDirectory /that/directory\``;
  }
  const literals = Object.values(keyFiles).map((file) => `--from-file=${file}`);
  return `make a Secret with \`kubectl -n ${namespace} create secret generic node-keys ${literals.join(" ")}\` and \`pulumi config set nodeKeysSecret node-keys\``;
}
