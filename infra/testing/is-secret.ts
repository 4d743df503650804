import { runtime } from "@pulumi/pulumi";

/** Whether a value has Pulumi's secret marker, so that the state stores it encrypted. */
export function isSecret(value: Record<string, unknown>): boolean {
  return value[runtime.specialSigKey] === runtime.specialSecretSig;
}
