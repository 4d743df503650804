import type { ListenerName } from "../catalogue/method.ts";
import { asBinary } from "../json-rpc/read-answer.ts";
import type { Policy } from "../policy.ts";
import { buildOpenRpcDocument } from "../catalogue/openrpc.ts";

/** Builds OpenRPC documents as JSON text, once per policy and listener. */
export function buildOpenRpcTexts(): (policy: Policy, listener: ListenerName) => string {
  const texts = new WeakMap<Policy, Map<ListenerName, string>>();
  return (policy, listener) => {
    const known = texts.get(policy) ?? new Map<ListenerName, string>();
    texts.set(policy, known);
    const text = known.get(listener) ?? asBinary(JSON.stringify(buildOpenRpcDocument(policy.catalogue, listener)));
    known.set(listener, text);
    return text;
  };
}
