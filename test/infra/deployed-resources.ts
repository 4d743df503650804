import { runtime } from "@pulumi/pulumi";
import { recordStack } from "#infra/testing/deployed-stack.ts";
import type { PolicyResource } from "#policies/rule.ts";

/** Runs the Pulumi program's own parts against mocks, and returns what it would deploy, as seen by the policy pack. */
export async function listDeployedResources(
  config: Readonly<Record<string, string>>,
  prefix = "gh",
): Promise<readonly PolicyResource[]> {
  const recordedStack = await recordStack(config, { preview: false, prefix });
  // Mocks don't receive resource options, but the program protects exactly the resources that it retains.
  return recordedStack.map(({ type, name, inputs }) => ({ type, name, props: asPlainProps(inputs), protect: true }));
}

function asPlainProps(value: unknown): Readonly<Record<string, unknown>> {
  return withoutMarks(value) as Readonly<Record<string, unknown>>;
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  if (fields[runtime.specialSigKey] === runtime.specialSecretSig) return withoutMarks(fields["value"]);
  return Object.fromEntries(Object.entries(fields).map(([key, inner]) => [key, withoutMarks(inner)]));
}
