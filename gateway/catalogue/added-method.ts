import type { Method, ParamLimit } from "./method.ts";
import { listParamsBytes, never, defineNodeMethod, searchedParamsBytes, unknownParamsBytes } from "./method-parts.ts";

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
