import type { MethodChange } from "../settings/policy.ts";
import {
  defineMethod,
  listParamsBytesMax,
  neverCached,
  type Audience,
  type ListenerName,
  type Method,
  type ParamLimit,
} from "./method.ts";
import { specifiedMethods } from "./methods.ts";

/** Max size, in bytes, of the parameters of an added method, and of those that are searched for a tracer. */
export const unknownParamsBytes = 65_536;
const searchedParamsBytes = 16_384;

export type Catalogue = ReadonlyMap<string, Method>;

/**
 * Creates the catalogue from the specification's methods and the operator's changes; a method missing from the specification is answered by
 * the node.
 */
export function createCatalogue(changes: Readonly<Record<string, MethodChange>>): Catalogue {
  const methods = new Map(specifiedMethods.map((method) => [method.name, method]));
  for (const [name, change] of Object.entries(changes)) {
    methods.set(name, applyChange(methods.get(name) ?? buildAddedMethod(name), change));
  }
  return methods;
}

/** The methods that each listener serves. */
export type ServedMethods = Readonly<Record<ListenerName, Catalogue>>;

export function selectServed(catalogue: Catalogue): ServedMethods {
  const select = (...audiences: readonly Audience[]) =>
    new Map([...catalogue].filter(([, { audience }]) => audiences.includes(audience)));
  return {
    public: select("public"),
    private: select("public", "private"),
    internal: select("public", "private", "internal"),
  };
}

function applyChange(method: Method, change: MethodChange): Method {
  return {
    ...method,
    audience: change.audience ?? method.audience,
    costUnits: change.costUnits ?? method.costUnits,
    timeoutMs: change.timeoutMs ?? method.timeoutMs,
    paramsBytes: change.paramsBytes ?? method.paramsBytes,
    cache: change.cache === false ? neverCached : method.cache,
    answeredBy: method.answeredBy === "nobody" && change.audience !== undefined ? "node" : method.answeredBy,
  };
}

/**
 * Builds a method that is not in the specification but is added or allowed by the operator's settings. A call to it is sent to the node at
 * most once, because its effects are unknown.
 */
export function buildAddedMethod(name: string): Method {
  const limit = findLimit(name);
  return defineMethod(name, [], "the node's result", neverCached, 50, "Added by the operator's settings", {
    audience: "private",
    repeatable: false,
    paramsBytes: findParamsBytes(limit),
    limit,
  });
}

/**
 * Returns the limit that an added method inherits, so that an alias can't evade it: log filters inherit range limits, other trace methods
 * inherit tracer limits.
 */
function findLimit(name: string): ParamLimit | undefined {
  if (name === "eth_newFilter") return { kind: "logsAtOnce" };
  return name.startsWith("debug_trace") ? { kind: "lastTracer" } : undefined;
}

function findParamsBytes(limit: ParamLimit | undefined): number {
  if (limit?.kind === "lastTracer") return searchedParamsBytes;
  return limit === undefined ? unknownParamsBytes : listParamsBytesMax;
}
