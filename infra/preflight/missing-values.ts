import type { StackConfig } from "../config/config-schema.ts";
import { missingKeys } from "../services/node-keys.ts";
import type { ConfigProblem } from "../config/config-problem.ts";

/** What a stack can't be without, told by the stack's own keys before the services' schemas would by theirs. */
export function missingValues(config: StackConfig): readonly ConfigProblem[] {
  const { devAccounts, signerPrivateKey, payTo, tokenAddress } = config;
  return [
    ...missingKeys(config),
    ...(devAccounts || signerPrivateKey !== undefined
      ? []
      : [missing("--secret signerPrivateKey", "the key of the account that submits settlements")]),
    ...(devAccounts || payTo !== undefined ? [] : [missing("payTo", "the account that is paid")]),
    ...(tokenAddress !== undefined
      ? []
      : [missing("tokenAddress", "the contract of the token that prices are charged in")]),
  ];
}

function missing(argument: string, expected: string): ConfigProblem {
  const key = argument.split(" ").at(-1) ?? argument;
  return { key, message: `missing; expected ${expected}. Set it with \`pulumi config set ${argument} …\`.` };
}
