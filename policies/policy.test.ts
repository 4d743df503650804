import { readFileSync } from "node:fs";
import type { ResourceValidationArgs, ResourceValidationPolicy } from "@pulumi/policy";
import * as proxies from "@pulumi/policy/proxy.js";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { unknownValue } from "@pulumi/pulumi/runtime/rpc.js";
import { createPolicy } from "./policy.ts";
import { allRules } from "./rules/all-rules.ts";
import { nonRoot } from "./rules/containers.ts";
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

describe("a policy", () => {
  it.each(allRules)("has mandatory enforcement and a documented severity: $name", (rule) => {
    const { name, severity, enforcementLevel, description } = createPolicy(rule, clock);
    expect({ name, severity, enforcementLevel }).toEqual({
      name: rule.name,
      severity: rule.severity,
      enforcementLevel: "mandatory",
    });
    expect(description).toMatch(`[${rule.severity}] `);
    expect(readme).toMatch(new RegExp(`\\| \`${rule.name}\` +\\| ${rule.severity} +\\|`));
  });

  it("reports the resource, the problem and the fix", () => {
    expect(findings(nonRoot, { ...buildDockerContainer().props, user: "root" })).toEqual([
      "gh-facilitator runs as root. Set a non-zero user ID (Docker: user; Kubernetes: runAsUser, or runAsNonRoot: true).",
    ]);
  });

  it.each([
    ["excuses a resource until the last day of its exception", { expires: "2026-11-21" }, undefined],
    ["reports an expired exception", { expires: "2026-11-20" }, "(its exception (migration) expired on 2026-11-20)"],
    ["excuses no other resource than the exception's", { resource: "gh-node" }, "gh-facilitator runs as root."],
  ])("%s", (_, change, said) => {
    const exceptions = [{ resource: "gh-facilitator", reason: "migration", expires: "2026-11-30", ...change }];
    const found = findings(nonRoot, { ...buildDockerContainer().props, user: "root" }, { exceptions });
    expect(found).toEqual(said === undefined ? [] : [expect.stringContaining(said)]);
  });

  it("requires a reason and an expiry date for each exception", () => {
    const { configSchema } = createPolicy(nonRoot, clock);
    const schema = new Ajv({ strict: false }).compile({ type: "object", ...configSchema });
    const accepts = (change: object) =>
      schema({ exceptions: [{ resource: "gh-node", reason: "vendor image", expires: "2026-12-31", ...change }] });
    expect([accepts({}), accepts({ reason: "" }), accepts({ reason: " " }), accepts({ expires: "next year" })]).toEqual(
      [true, false, false, false],
    );
  });

  it("ignores unknown preview values that it does not read", () => {
    const props = unknownCheckingProxy({ ...buildDockerContainer().props, image: unknownValue, user: "root" });
    expect(findings(nonRoot, props)).toHaveLength(1);
  });

  it("throws on an unknown preview value that it reads", () => {
    const props = unknownCheckingProxy({ ...buildDockerContainer().props, user: unknownValue });
    expect(() => findings(nonRoot, props)).toThrow(/can't be known during preview/);
  });
});
