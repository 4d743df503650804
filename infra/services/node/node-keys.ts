import type { StackConfig } from "../../config/config-schema.ts";
import { describeProblem, removeKey, setKey, setKeyTo, type ConfigProblem } from "../../config/config-problem.ts";
import type { DeploymentSecret } from "../../config/deployment-secret.ts";
import type { FileSpec, ExistingFiles } from "../service-spec.ts";

/** A real node's keys (specification, `secret_config`), by source; each key becomes a file with mode 0400 that the node's user owns. */
export type NodeKeys = Readonly<{
  files: readonly FileSpec[];
  /** Existing keys: in a Secret in the namespace, or in a directory on the Docker host. */
  existing: ExistingFiles | undefined;
}>;

/** File names of the keys, as in node.conf's `domain_key_path` and `stabilizing_key_path`. */
export const keyFiles = { domainKey: "domain.key", stabilizingKey: "stabilizing.key" } as const;

const keyNames = ["domainKey", "stabilizingKey"] as const;

export function readNodeKeys(config: StackConfig, secret: (text: string) => DeploymentSecret): NodeKeys {
  const names = Object.values(keyFiles);
  const { nodeKeysSecret, nodeKeysDirectory } = config;
  if (config.nodeImage === undefined) return { files: [], existing: undefined };
  if (nodeKeysSecret !== undefined) return { files: [], existing: { kind: "secret", name: nodeKeysSecret, names } };
  if (nodeKeysDirectory !== undefined) {
    return { files: [], existing: { kind: "host", directory: nodeKeysDirectory, names } };
  }
  const files = keyNames.flatMap((key) => {
    const content = config[key];
    return content === undefined ? [] : [{ name: keyFiles[key], content: secret(content).value, secret: true }];
  });
  return { files, existing: undefined };
}

/** Reports problems with the sources of the keys: all keys must come from one source. */
export function findNodeKeyProblems(config: StackConfig): readonly ConfigProblem[] {
  const given = keyNames.filter((key) => config[key] !== undefined);
  const { nodeImage, nodeKeysSecret, nodeKeysDirectory } = config;
  const ready = [
    ...(nodeKeysSecret === undefined ? [] : (["nodeKeysSecret"] as const)),
    ...(nodeKeysDirectory === undefined ? [] : (["nodeKeysDirectory"] as const)),
  ];
  const [one = "", another] = [...ready, ...given];
  if (nodeImage === undefined) {
    const wrong = "found without nodeImage; the devnet node has no keys.";
    return [...ready, ...given].map((key) => describeProblem(key, wrong, "Remove it", removeKey(), "."));
  }
  if (ready.length > 0 && another !== undefined) {
    const wrong = `found together with ${another}; only one source of keys is allowed.`;
    return [describeProblem(one, wrong, "Remove one of the two", removeKey(), ".")];
  }
  return [];
}

/** Reports a real node's missing keys, with every way to supply them. */
export function findMissingKeys(config: StackConfig): readonly ConfigProblem[] {
  if (config.nodeImage === undefined) return [];
  if (config.nodeKeysSecret !== undefined || config.nodeKeysDirectory !== undefined) return [];
  return keyNames
    .filter((key) => config[key] === undefined)
    .map((key) =>
      describeProblem(
        key,
        `missing; expected the node's key for ${confField[key]} in node.conf.`,
        "Set it",
        setKey(key, { secret: true, file: keyFiles[key] }),
        ", or ",
        ...suggestKeySource(config),
        ".",
      ),
    );
}

const confField = {
  domainKey: "chain.secret_config.domain_key_path",
  stabilizingKey: "chain.secret_config.stabilizing_key_path",
} as const;

function suggestKeySource({ target, namespace, nodeUser }: StackConfig) {
  if (target === "docker") {
    const files = Object.values(keyFiles).join(" and ");
    const owner = nodeUser ?? "nodeUser";
    return [
      `put ${files} in a directory on the Docker host, with mode 0400 and owned by user ${owner}, and `,
      setKeyTo("", "nodeKeysDirectory", { value: "/that/directory" }),
    ];
  }
  const literals = Object.values(keyFiles).map((file) => `--from-file=${file}`);
  return [
    `create a Secret with \`kubectl -n ${namespace} create secret generic node-keys ${literals.join(" ")}\` and `,
    setKeyTo("", "nodeKeysSecret", { value: "node-keys" }),
  ];
}
