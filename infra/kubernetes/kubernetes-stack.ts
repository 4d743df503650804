import { createHmac } from "node:crypto";
import * as k8s from "@pulumi/kubernetes";
import { secret, Stash, type Output } from "@pulumi/pulumi";
import type { ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { Scope } from "../platform.ts";
import { findStackSecret } from "../services/node/dev-accounts.ts";
import { findPeerWarning } from "../services/node/peers.ts";
import { listImages } from "../services/stack-images.ts";
import { KubernetesNamespace } from "./kubernetes-platform.ts";
import { findTrustedProxyWarning } from "../services/trusted-proxies.ts";

/**
 * Derives the checksum key from the only full-entropy secret that every stack has. The stack's state retains the first key (Pulumi
 * documentation, "Stash"): a key that changed with the signer's key would roll every pod.
 */
function keepRevisionKey(
  config: StackConfig,
  { prefix, scope }: Readonly<{ prefix: string; scope: Scope | undefined }>,
): Output<string> {
  // Preflight rejects a stack without a secret.
  const first = createHmac("sha256", findStackSecret(config) ?? "")
    .update("gatehouse revision of files")
    .digest("hex");
  const stash = new Stash(
    `${prefix}-revision-key`,
    { input: secret(first) },
    { ...(scope && { parent: scope.parent }), ignoreChanges: ["input"], additionalSecretOutputs: ["output"] },
  );
  return secret(stash.output as Output<string>);
}

export function createKubernetesNamespace(
  config: StackConfig,
  {
    prefix,
    scope,
    warn,
  }: Readonly<{ prefix: string; scope: Scope | undefined; warn: (warning: ConfigProblem) => void }>,
): KubernetesNamespace {
  const here = scope && { parent: scope.parent };
  for (const warning of [findPeerWarning(config), findTrustedProxyWarning(config)]) {
    if (warning !== undefined) warn(warning);
  }
  return new KubernetesNamespace(
    `${prefix}-namespace`,
    {
      ...config,
      prefix,
      rendered: config.renderTo !== undefined,
      // A real node takes days to sync, and no other service is ready until then.
      awaitsPods: config.nodeImage === undefined,
      images: listImages(config),
      revisionKey: keepRevisionKey(config, { prefix, scope }),
      provider: scope?.provider ?? createProvider(config, { prefix, scope }),
    },
    here,
  );
}

/**
 * Creates the provider for the cluster. If a component owns the provider, its name contains the prefix: a program may have several
 * components, and only the name distinguishes their URNs.
 */
function createProvider(
  { kubernetesContext, renderTo }: StackConfig,
  { prefix, scope }: Readonly<{ prefix: string; scope: Scope | undefined }>,
): k8s.Provider {
  const args = {
    ...(kubernetesContext === undefined ? {} : { context: kubernetesContext }),
    ...(renderTo === undefined ? {} : { renderYamlToDirectory: renderTo }),
    enableServerSideApply: true,
    // Updates a changed ConfigMap or Secret in place; the checksum in the pod template rolls the workload.
    enableConfigMapMutable: true,
    enableSecretMutable: true,
  };
  return scope === undefined
    ? new k8s.Provider("cluster", args)
    : new k8s.Provider(`${prefix}-cluster`, args, { parent: scope.parent });
}
