import type { Method } from "../catalogue/method.ts";
import { callKey } from "../json-rpc/call.ts";
import type { Policy } from "../policy/policy.ts";
import type { Tier } from "../settings/policy.ts";
import type { ChainHead } from "../chain/head.ts";
import type { CheckedParams } from "./checked-params.ts";

/** Most parameters that are remembered, and the longest. */
const rememberedChecks = 1_000;
const rememberedLength = 1_024;

/** What a check of parameters rests on, beside them. */
export type CheckBasis = Readonly<{ policy: Policy; head: ChainHead | undefined; tier: Tier; method: Method }>;

/** What a check comes to; of parameters that pass, with their `callKey`. */
export type CheckedRead =
  | Exclude<CheckedParams, { kind: "pass" }>
  | Readonly<{ kind: "pass"; params: string; key: string }>;

/** Makes a check, or answers what the same one came to before. */
export type RememberedChecks = (basis: CheckBasis, params: string, check: () => CheckedParams) => CheckedRead;

/**
 * Remembers what checks of parameters came to while the policy and the head stay the same: those who poll send the same filter
 * again and again. What is refused is checked each time.
 */
export function rememberChecks(): RememberedChecks {
  let policyOfAll: Policy | undefined;
  let headOfAll: ChainHead | undefined;
  let count = 0;
  const known = new Map<Tier, Map<string, Map<string, CheckedRead>>>();
  return ({ policy, head, tier, method }, params, check) => {
    if (params.length > rememberedLength) return keyed(method, check());
    if (policy !== policyOfAll || head !== headOfAll || count >= rememberedChecks) {
      known.clear();
      policyOfAll = policy;
      headOfAll = head;
      count = 0;
    }
    const before = known.get(tier)?.get(method.name)?.get(params);
    if (before !== undefined) return before;
    const read = keyed(method, check());
    if (read.kind !== "pass") return read;
    const ofTier = known.get(tier) ?? new Map<string, Map<string, CheckedRead>>();
    const ofMethod = ofTier.get(method.name) ?? new Map<string, CheckedRead>();
    known.set(tier, ofTier.set(method.name, ofMethod.set(params, read)));
    count += 1;
    return read;
  };
}

function keyed(method: Method, checked: CheckedParams): CheckedRead {
  return checked.kind === "pass" ? { ...checked, key: callKey(method.name, checked.params) } : checked;
}
