import type { Input } from "@pulumi/pulumi";

/**
 * A secret to deliver to a container. `value` is delivered, and encrypted in the state; `check` is the same text, used only for validation
 * by the services' schemas.
 */
export type DeploymentSecret = Readonly<{ kind: "secret"; check: string; value: Input<string> }>;

export function isDeploymentSecret(value: unknown): value is DeploymentSecret {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "secret" && "check" in value;
}
