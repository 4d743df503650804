import { readFileSync } from "node:fs";
import type { ResourceValidationArgs, ResourceValidationPolicy } from "@pulumi/policy";
import * as proxies from "@pulumi/policy/proxy.js";
import { describe, expect, it } from "vitest";
import { unknownValue } from "@pulumi/pulumi/runtime/rpc.js";
import { createPolicy, evaluateException, type RuleException } from "./policy.ts";
import { allRules } from "./rules/all-rules.ts";
import { nonRoot } from "./rules/non-root.ts";
import type { ResourceRule } from "./rule.ts";
import { buildDockerContainer } from "./testing/sample-resources.ts";

/** The policy SDK's own wrapper of properties at preview; its type declarations leave it out. */
const { unknownCheckingProxy } = proxies as unknown as {
  unknownCheckingProxy: (props: Record<string, unknown>) => Record<string, unknown>;
};

const readme = readFileSync("policies/README.md", "utf8");
const clock = () => new Date("2026-11-21T00:00:00Z");

function findings(rule: ResourceRule, props: Record<string, unknown>, config: Record<string, unknown> = {}): string[] {
  const policy = createPolicy(rule, clock) as ResourceValidationPolicy;
  const reported: string[] = [];
  const { type, name } = buildDockerContainer();
  const args = { type, name, urn: "urn", opts: { protect: false }, props, getConfig: () => config };
  const validate = policy.validateResource;
  if (typeof validate !== "function") throw new Error("one validation was expected");
  void validate(args as unknown as ResourceValidationArgs, (message) => reported.push(message));
  return reported;
}

describe("policyOf", () => {
  it.each(allRules)(
    "makes $name stop a deployment, whatever its severity, which Pulumi and the README state",
    (rule) => {
      const { name, severity, enforcementLevel, description } = createPolicy(rule, clock);
      expect({ name, severity, enforcementLevel }).toEqual({
        name: rule.name,
        severity: rule.severity,
        enforcementLevel: "mandatory",
      });
      expect(description).toMatch(`[${rule.severity}] `);
      expect(readme).toMatch(new RegExp(`\\| \`${rule.name}\` +\\| ${rule.severity} +\\|`));
    },
  );

  it("reports the resource, what is wrong and what to change", () => {
    expect(findings(nonRoot, { ...buildDockerContainer().props, user: "root" })).toEqual([
      "gh-facilitator runs as root. Set a non-zero user ID (Docker: user; Kubernetes: runAsUser, or runAsNonRoot: true).",
    ]);
  });

  it("heeds an exception with a reason and a day to come", () => {
    const exceptions = [{ resource: "gh-facilitator", reason: "migration", expires: "2026-11-30" }];
    expect(findings(nonRoot, { ...buildDockerContainer().props, user: "root" }, { exceptions })).toEqual([]);
  });

  it("says when the exception is over", () => {
    const exceptions = [{ resource: "gh-facilitator", reason: "migration", expires: "2026-11-20" }];
    const [finding = ""] = findings(nonRoot, { ...buildDockerContainer().props, user: "root" }, { exceptions });
    expect(finding).toContain("expired on 2026-11-20");
  });

  it("is not spoilt at preview by an unknown value that it does not need", () => {
    const props = unknownCheckingProxy({ ...buildDockerContainer().props, image: unknownValue, user: "root" });
    expect(findings(nonRoot, props)).toHaveLength(1);
  });

  it("lets Pulumi see that a value it needs is unknown", () => {
    const props = unknownCheckingProxy({ ...buildDockerContainer().props, user: unknownValue });
    expect(() => findings(nonRoot, props)).toThrow(/can't be known during preview/);
  });
});

const exception: RuleException = {
  rule: "non-root",
  resource: "gh-node",
  reason: "vendor image",
  expires: "2026-12-31",
};
const on = (day: string) => ({ rule: "non-root", resource: "gh-node", today: new Date(`${day}T12:00:00Z`) });

describe("bearingOf", () => {
  it("excuses until the last day, inclusive", () => {
    expect(evaluateException([exception], on("2026-12-31"))).toEqual({ excused: true, note: undefined });
  });

  it("reports that an exception has expired", () => {
    expect(evaluateException([exception], on("2027-01-01"))).toEqual({
      excused: false,
      note: "its exception (vendor image) expired on 2026-12-31",
    });
  });

  it("bears on its own rule and resource only", () => {
    const { today } = on("2026-11-01");
    expect(evaluateException([exception], { rule: "confined", resource: "gh-node", today }).excused).toBe(false);
    expect(evaluateException([exception], { rule: "non-root", resource: "gh-other", today }).excused).toBe(false);
  });

  it.each([
    ["", "2026-12-31"],
    ["vendor image", "next year"],
  ])("does not count with the reason %j and the day %j", (reason, expires) => {
    const { excused, note } = evaluateException([{ ...exception, reason, expires }], on("2026-11-01"));
    expect(excused).toBe(false);
    expect(note).toContain("is ignored");
  });
});
