import type { Audience, Method } from "../catalogue/method.ts";
import { addedMethod } from "../catalogue/added-method.ts";
import type { Policy } from "../policy/policy.ts";
import type { Tier } from "../settings/policy.ts";
import type { Caller } from "./caller.ts";

const unlistedMethod = /^[a-zA-Z][\w.]{0,63}$/;
/** Methods that make the node trace: only the catalogue knows what limits and costs they need. */
const tracingMethod = /^(?:debug_trace|trace_)/;
const width = { public: 0, private: 1, internal: 2, nobody: 3 } as const satisfies Record<Audience, number>;

/** The method that a caller may call by this name; undefined when there is none for it. */
export function methodFor(policy: Policy, tier: Tier, name: string, { listener }: Caller): Method | undefined {
  const method = policy.catalogue.get(name);
  if (method === undefined) {
    const forward = listener !== "public" && policy.settings.unknownMethods[listener] === "forward";
    if (!forward || !unlistedMethod.test(name) || tracingMethod.test(name)) return undefined;
    return addedMethod(name);
  }
  if (width[method.audience] > width[listener]) return undefined;
  return tier.methods === undefined || tier.methods.includes(name) ? method : undefined;
}
