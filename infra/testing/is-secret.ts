import { runtime } from "@pulumi/pulumi";

/** Whether a value has Pulumi's mark of one that its state keeps encrypted. */
export function isSecret(value: Record<string, unknown>): boolean {
  return value[runtime.specialSigKey] === runtime.specialSecretSig;
}
