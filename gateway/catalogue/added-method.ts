import type { Method, ParamLimit } from "./method.ts";
import { listParamsBytes, never, defineNodeMethod, searchedParamsBytes, unknownParamsBytes } from "./method-parts.ts";

/**
 * Builds a method that the specification lacks, as the operator's settings add it or let it through. It is sent to the node once at most,
 * because nobody knows what it does.
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

/** Returns the limit that an added method inherits, so that no other name evades it: ranges of logs by a filter, tracers by other ways to trace. */
function findLimit(name: string): ParamLimit | undefined {
  if (name === "eth_newFilter") return { kind: "logsAtOnce" };
  return name.startsWith("debug_trace") ? { kind: "lastTracer" } : undefined;
}

function findParamsBytes(limit: ParamLimit | undefined): number {
  if (limit?.kind === "lastTracer") return searchedParamsBytes;
  return limit === undefined ? unknownParamsBytes : listParamsBytes;
}
