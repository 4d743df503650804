import { tokenAddress } from "#devnet/token/address.ts";

/** Answers by configuration key; keys with an empty answer are absent. */
export type Answers = Readonly<Record<string, string>>;

export type StackQuestion = Readonly<{
  key: string;
  ask: string;
  /** Value used for an empty answer; if absent, the key stays unset. */
  fallback?: string;
  /** The answer is the path of a file that contains the value, which is stored encrypted. */
  isSecretFile?: true;
  /** Whether to ask this question, given the earlier answers; if absent, always. */
  when?: (answers: Answers) => boolean;
}>;

const isReal = ({ nodeImage }: Answers) => nodeImage !== undefined;
const onKubernetes = ({ target }: Answers) => target === "kubernetes";

export const stackQuestions: readonly StackQuestion[] = [
  { key: "target", ask: "Target, docker or kubernetes", fallback: "docker" },
  { key: "nodeImage", ask: "Image of your node, with its digest (empty: the devnet's node)" },
  { key: "nodeVersion", ask: "Version of the node (empty: the image's tag)", when: isReal },
  { key: "nodeUser", ask: "User ID that the image runs as", fallback: "1000", when: isReal },
  { key: "chainId", ask: "Chain id", fallback: "1672", when: isReal },
  { key: "hostIp", ask: "Address that the node advertises to its peers", when: isReal },
  { key: "domainKey", ask: "File of the node's domain.key", isSecretFile: true, when: isReal },
  { key: "stabilizingKey", ask: "File of the node's stabilizing.key", isSecretFile: true, when: isReal },
  {
    key: "nodeHealthCommand",
    ask: 'Health check command in the image, such as ["bash", "-c", "…"]',
    when: (answers) => isReal(answers) && !onKubernetes(answers),
  },
  {
    key: "signerPrivateKey",
    ask: "File with the private key of the account that submits settlements and pays their gas",
    isSecretFile: true,
    when: isReal,
  },
  { key: "payTo", ask: "Account that receives payments", when: isReal },
  { key: "tokenAddress", ask: "Contract of the payment token", when: isReal },
  { key: "tokenName", ask: "The token's name in its EIP-712 domain", fallback: "USDC", when: isReal },
  { key: "tokenVersion", ask: "The token's version in that domain", fallback: "2", when: isReal },
  { key: "routes", ask: 'Routes to sell, as JSON (empty: the sample "GET /data")' },
  { key: "gatehouseImage", ask: "Image of Gatehouse in your registry, with its digest", when: onKubernetes },
  {
    key: "devnetImage",
    ask: "Image of the devnet in your registry, for the devnet's node and the sample route",
    when: (answers) => onKubernetes(answers) && (!isReal(answers) || answers["routes"] === undefined),
  },
  { key: "kubernetesContext", ask: "Context of the kubeconfig (empty: the current one)", when: onKubernetes },
  { key: "namespace", ask: "Namespace", fallback: "gatehouse", when: onKubernetes },
];

/** Adds the devnet's accounts and token if the stack has no node of its own. */
export function addDevnetDefaults(answers: Answers): Answers {
  if (isReal(answers)) return answers;
  return { ...answers, devAccounts: "true", tokenAddress };
}
