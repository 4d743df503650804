import { createHmac } from "node:crypto";
import * as k8s from "@pulumi/kubernetes";
import { log, secret, type Output } from "@pulumi/pulumi";
import type { StackConfig } from "../config/config-schema.ts";
import { devAccounts } from "../services/dev-accounts.ts";
import { warnOfPeers } from "../services/peers.ts";
import { listImages } from "../services/stack-images.ts";
import { KubernetesNamespace } from "./kubernetes-namespace.ts";
import { warnOfTrustedProxies } from "../services/trusted-proxies.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";

/** What a stack's configuration says of its namespace. */
export function readKubernetesOptions(config: StackConfig, prefix: string): KubernetesOptions {
  return {
    prefix,
    namespace: config.namespace,
    images: listImages(config),
    storageClass: config.storageClass,
    nodeVolumeGibibytes: config.nodeVolumeGibibytes,
    volumeGrows: config.volumeGrowth !== undefined,
    restartStrategy: config.nodeRestart,
    peers: config.peers,
    apiServerCidr: config.apiServerCidr,
    ingress: config.ingress,
    gatewayApi: config.gatewayApi,
    observability: config.observability,
    revisionKey: revisionKey(config),
  };
}

/** Made of the signer's key, the one secret with all its bits that every stack has; says nothing about it. */
function revisionKey({ signerPrivateKey }: StackConfig): Output<string> {
  const signer = signerPrivateKey ?? devAccounts.signer.privateKey;
  return secret(createHmac("sha256", signer).update("gatehouse revision of files").digest("hex"));
}

/** Creates the namespace of a stack, with the provider of its cluster. */
export function createKubernetesNamespace(config: StackConfig, prefix: string): KubernetesNamespace {
  const provider = new k8s.Provider("cluster", {
    ...(config.kubernetesContext === undefined ? {} : { context: config.kubernetesContext }),
    ...(config.renderTo === undefined ? {} : { renderYamlToDirectory: config.renderTo }),
    enableServerSideApply: true,
    // A changed ConfigMap or Secret is updated in place; the pod template's checksum rolls the workload.
    enableConfigMapMutable: true,
    enableSecretMutable: true,
  });
  for (const warning of [warnOfPeers(config), warnOfTrustedProxies(config)]) {
    if (warning !== undefined) void log.warn(warning);
  }
  const { protectData } = config;
  return new KubernetesNamespace(`${prefix}-namespace`, {
    ...readKubernetesOptions(config, prefix),
    provider,
    protectData,
    rendered: config.renderTo !== undefined,
  });
}
