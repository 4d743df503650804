import { runtime, secret } from "@pulumi/pulumi";
import type { DeploymentSecret } from "./deployment-secret.ts";

/**
 * Reads the running stack's configuration by key, without the project prefix; secrets are decrypted only for validation. Unknown keys are
 * included, so that misspelt keys are detected.
 */
export function readStackConfiguration(project: string): Readonly<Record<string, string>> {
  const prefix = `${project}:`;
  return Object.fromEntries(
    Object.entries(runtime.allConfig())
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => [key.slice(prefix.length), value]),
  );
}

/**
 * Wraps text as a secret that Pulumi encrypts wherever it stores it.
 *
 * @example
 * import { deploymentSecret } from "gatehouse-evm/pulumi";
 *
 * const key = deploymentSecret(signerKey);
 * console.log(await isSecret(key.value)); // true
 */
export function deploymentSecret(text: string): DeploymentSecret {
  return { kind: "secret", check: text, value: secret(text) };
}
