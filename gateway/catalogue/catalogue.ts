import type { MethodChange } from "../settings/policy.ts";
import { blockMethods } from "./block-methods.ts";
import { clientMethods } from "./client-methods.ts";
import { debugMethods } from "./debug-methods.ts";
import { executeMethods } from "./execute-methods.ts";
import { extensionMethods } from "./extension-methods.ts";
import { feeMethods } from "./fee-methods.ts";
import { logMethods } from "./log-methods.ts";
import type { Method, ParamLimit } from "./method.ts";
import { never, listParamsBytes, defineNodeMethod, searchedParamsBytes, unknownParamsBytes } from "./method-parts.ts";
import { networkMethods } from "./network-methods.ts";
import { placeholderMethods, unimplementedMethods } from "./placeholder-methods.ts";
import { stateMethods } from "./state-methods.ts";
import { transactionMethods } from "./transaction-methods.ts";

/** Every method in the specification: the only list of methods. The standard ones are grouped as in Ethereum's execution-apis. */
export const specifiedMethods: readonly Method[] = [
  ...feeMethods,
  ...clientMethods,
  ...stateMethods,
  ...executeMethods,
  ...blockMethods,
  ...transactionMethods,
  ...logMethods,
  ...networkMethods,
  ...debugMethods,
  ...extensionMethods,
  ...placeholderMethods,
  ...unimplementedMethods,
];

/** Methods by name. */
export type Catalogue = ReadonlyMap<string, Method>;

/** Creates the catalogue from the specification's methods and the operator's changes; a name that the specification lacks becomes a node method. */
export function createCatalogue(changes: Readonly<Record<string, MethodChange>>): Catalogue {
  const methods = new Map(specifiedMethods.map((method) => [method.name, method]));
  for (const [name, change] of Object.entries(changes)) {
    methods.set(name, applyChange(methods.get(name) ?? buildAddedMethod(name), change));
  }
  return methods;
}

function applyChange(method: Method, change: MethodChange): Method {
  return {
    ...method,
    audience: change.audience ?? method.audience,
    costUnits: change.costUnits ?? method.costUnits,
    timeoutMs: change.timeoutMs ?? method.timeoutMs,
    ...((change.paramsBytes ?? method.paramsBytes) === undefined
      ? {}
      : { paramsBytes: change.paramsBytes ?? method.paramsBytes }),
    cache: change.cache === false ? never : method.cache,
    answeredBy: method.answeredBy === "nobody" && change.audience !== undefined ? "node" : method.answeredBy,
  };
}

/**
 * Builds a method that is not in the specification but is added or allowed by the operator's settings. A call to it is sent to the node at
 * most once, because its effects are unknown.
 */
export function buildAddedMethod(name: string): Method {
  const limit = findLimit(name);
  return defineNodeMethod({
    name,
    summary: "Added by the operator's settings",
    params: [],
    result: "what the node answers",
    audience: "private",
    cache: never,
    repeatable: false,
    costUnits: 50,
    paramsBytes: findParamsBytes(limit),
    ...(limit === undefined ? {} : { limit }),
  });
}

/** Returns the limit that an added method inherits, so that no alias evades it: log filters inherit range limits, other trace methods inherit tracer limits. */
function findLimit(name: string): ParamLimit | undefined {
  if (name === "eth_newFilter") return { kind: "logsAtOnce" };
  return name.startsWith("debug_trace") ? { kind: "lastTracer" } : undefined;
}

function findParamsBytes(limit: ParamLimit | undefined): number {
  if (limit?.kind === "lastTracer") return searchedParamsBytes;
  return limit === undefined ? unknownParamsBytes : listParamsBytes;
}
