import { runtime } from "@pulumi/pulumi";
import { recordingMocks, type Recorded } from "#infra/testing/recording-mocks.ts";
import type { PolicyResource } from "#policies/rule.ts";

/** Runs the Pulumi program's own parts over mocks, and returns what it would deploy, as the policy pack sees it. */
export async function deployedResources(config: Readonly<Record<string, string>>): Promise<readonly PolicyResource[]> {
  const recorded: Recorded[] = [];
  await runtime.setMocks(recordingMocks(recorded), "gatehouse", "test", false);
  const { parseConfig } = await import("#infra/config.ts");
  const { Gatehouse } = await import("#infra/components/gatehouse.ts");
  const { stackArgs } = await import("#infra/spec/stack-specs.ts");
  const { deploymentSecret } = await import("#infra/stack-input.ts");
  const parsed = parseConfig(config);
  const platform =
    parsed.target === "docker"
      ? (await import("#infra/docker/docker-stack.ts")).dockerHostOf(parsed, { prefix: "gh", root: "/repository" })
      : (await import("#infra/kubernetes/kubernetes-stack.ts")).kubernetesNamespaceOf(parsed, "gh");
  const { addresses, restart } = platform;
  const gatehouse = new Gatehouse("gh", {
    ...stackArgs(parsed, { prefix: "gh", addresses, restart, secret: deploymentSecret }),
    platform,
  });
  await runtime.disconnect();
  const urn = await new Promise((resolve) => gatehouse.urn.apply(resolve));
  if (typeof urn !== "string") throw new Error("the program registered nothing");
  // Mocks do not see resource options; the program protects exactly what it keeps.
  return recorded.map(({ type, name, inputs }) => ({ type, name, props: plain(inputs), protect: true }));
}

function plain(value: unknown): Readonly<Record<string, unknown>> {
  return withoutMarks(value) as Readonly<Record<string, unknown>>;
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  if (fields[runtime.specialSigKey] === runtime.specialSecretSig) return withoutMarks(fields["value"]);
  return Object.fromEntries(Object.entries(fields).map(([key, inner]) => [key, withoutMarks(inner)]));
}
