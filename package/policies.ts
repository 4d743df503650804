import type { Policies } from "@pulumi/policy";
import { createPolicy } from "#policies/policy.ts";
import { allRules } from "#policies/rules/all-rules.ts";

/**
 * `gatehouse-evm/policies`: rules that a Gatehouse deployment must not break, for use in your own policy pack. The package's folder `dist/policies` is a policy pack with only these rules.
 *
 * @param now returns the date against which exceptions are checked.
 *
 * @example
 * import { gatehousePolicies } from "gatehouse-evm/policies";
 *
 * const policies = [...gatehousePolicies(), ...ours]; // for new PolicyPack("acme", { policies })
 * console.log(policies.length > ours.length); // true
 */
export function gatehousePolicies(now: () => Date = () => new Date()): Policies {
  return allRules.map((rule) => createPolicy(rule, now));
}
