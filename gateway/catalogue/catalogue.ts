import type { MethodChange } from "../settings/policy.ts";
import { buildAddedMethod } from "./added-method.ts";
import { chainMethods } from "./chain-methods.ts";
import { debugMethods } from "./debug-methods.ts";
import { extensionMethods } from "./extension-methods.ts";
import type { Method } from "./method.ts";
import { never } from "./method-parts.ts";
import { networkMethods } from "./network-methods.ts";
import { placeholderMethods, unimplementedMethods } from "./placeholder-methods.ts";
import { stateMethods } from "./state-methods.ts";

/** Every method in the specification, in the same order: the only list of methods. */
export const specifiedMethods: readonly Method[] = [
  ...stateMethods,
  ...chainMethods,
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
