import { runtime } from "@pulumi/pulumi";

/** Whether a value has Pulumi's secret marker, so that it is stored encrypted in the state. */
export function isSecret(value: Record<string, unknown>): boolean {
  return value[runtime.specialSigKey] === runtime.specialSecretSig;
}
