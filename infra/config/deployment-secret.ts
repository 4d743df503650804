import type { Input } from "@pulumi/pulumi";

/**
 * A secret on its way into a container: `value` is delivered, and encrypted in the state; `check` is the same text for the services' schemas, and goes
 * nowhere else.
 */
export type DeploymentSecret = Readonly<{ kind: "secret"; check: string; value: Input<string> }>;

/** Whether a value of a settings tree is a secret. */
export function isDeploymentSecret(value: unknown): value is DeploymentSecret {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "secret" && "check" in value;
}
