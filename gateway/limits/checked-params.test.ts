import { describe, expect, it } from "vitest";
import { createPolicy } from "../policy.ts";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { type CheckedParams, rememberChecks, type CheckBasis, type RememberedChecks } from "./checked-params.ts";

const settings = testSettings({ tiers: { public: limitlessTier, other: limitlessTier } });

/** Builds another basis of a check each time, equal to the previous one. */
function basisOf(): CheckBasis {
  const policy = createPolicy(settings);
  return {
    policy,
    head: { latest: 1_000n, finalized: 900n },
    tier: policy.tiers.get("public")!,
    method: policy.catalogue.get("eth_getLogs")!,
  };
}

/** Requests a check, and returns whether it ran. */
function isChecked(checks: RememberedChecks, basis: CheckBasis, params: string, checked?: CheckedParams): boolean {
  let isMade = false;
  checks(basis, params, () => {
    isMade = true;
    return checked ?? { kind: "pass", params };
  });
  return isMade;
}

describe("remembered checks", () => {
  it("do not make again a check that was passed, and give what it came to", () => {
    const checks = rememberChecks();
    const basis = basisOf();
    const pass = { kind: "pass", params: '[{"as":"checked"}]', key: 'eth_getLogs [{"as":"checked"}]' };
    for (const isFirst of [true, false, false]) {
      let isMade = false;
      const check = () => {
        isMade = true;
        return { kind: "pass", params: '[{"as":"checked"}]' } as const;
      };
      expect(checks(basis, '[ {"as":"sent"} ]', check)).toEqual(pass);
      expect(isMade).toBe(isFirst);
    }
    expect(isChecked(checks, basis, "[1]")).toBe(true);
  });

  it("are made again for another policy, head, tier or method", () => {
    const basis = basisOf();
    const { policy, head } = basis;
    for (const change of [
      { policy: createPolicy(settings) },
      { head: { ...head! } },
      { head: undefined },
      { tier: policy.tiers.get("other")! },
      { method: policy.catalogue.get("trace_filter")! },
    ]) {
      const checks = rememberChecks();
      expect(isChecked(checks, basis, "[]")).toBe(true);
      expect(isChecked(checks, { ...basis, ...change }, "[]")).toBe(true);
      expect(isChecked(checks, { ...basis, ...change }, "[]")).toBe(false);
    }
  });

  it("are not taken from a policy or a head that was before", () => {
    const checks = rememberChecks();
    const basis = basisOf();
    const later = { ...basis, head: undefined };
    for (const one of [basis, later, basis, later]) expect(isChecked(checks, one, "[]")).toBe(true);
  });

  it("are made each time for what is refused or read in pieces", () => {
    const checks = rememberChecks();
    const basis = basisOf();
    const refuse = { kind: "refuse", error: { code: -32_602, message: "too large" }, limit: "blockRange" } as const;
    for (const checked of [refuse, { kind: "split", pieces: ["[1]", "[2]"] } as const]) {
      for (let time = 0; time < 3; time += 1) {
        expect(checks(basis, "[]", () => checked)).toEqual(checked);
        expect(isChecked(checks, basis, "[]", checked)).toBe(true);
      }
    }
  });

  it("are remembered up to a number and a length", () => {
    const checks = rememberChecks();
    const basis = basisOf();
    const long = `["${"x".repeat(2_000)}"]`;
    for (let time = 0; time < 2; time += 1) expect(isChecked(checks, basis, long)).toBe(true);
    const all = Array.from({ length: 1_000 }, (_, at) => `[${at}]`);
    for (const params of all) expect(isChecked(checks, basis, params)).toBe(true);
    // All slots are taken: the next check frees them, and none of the earlier checks is remembered.
    expect(isChecked(checks, basis, "[1000]")).toBe(true);
    expect(isChecked(checks, basis, "[1000]")).toBe(false);
    for (const params of all.slice(0, 10)) expect(isChecked(checks, basis, params)).toBe(true);
  });
});
