import { runtime, secret } from "@pulumi/pulumi";
import type { DeploymentSecret } from "./deployment-secret.ts";

/**
 * Reads the configuration of the running stack by key, without the project's name in front; secrets are decrypted, for the checks alone. All keys are
 * taken, not only known ones, so that a misspelt key is found.
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
 * Makes text a secret that Pulumi encrypts wherever it stores it.
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
