import * as k8s from "@pulumi/kubernetes";
import type { StackConfig } from "../config-schema.ts";
import { nodeConf } from "../spec/node-conf.ts";
import { pushgatewayPort } from "../spec/pushgateway-spec.ts";
import { kubernetesAddresses } from "../spec/addresses.ts";
import { KubernetesNamespace } from "./kubernetes-namespace.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";

/** What a stack's configuration says of its namespace. Pure. */
export function kubernetesOptions(config: StackConfig, prefix: string): KubernetesOptions {
  return {
    prefix,
    namespace: config.namespace,
    images: {
      ...(config.gatehouseImage === undefined ? {} : { gatehouse: config.gatehouseImage }),
      ...(config.devnetImage === undefined ? {} : { devnet: config.devnetImage }),
      ...(config.nodeImage === undefined ? {} : { node: config.nodeImage }),
    },
    storageClass: config.storageClass,
    restartStrategy: config.nodeRestart,
    peers: config.peers,
    ingress: config.ingress,
    nodeConf: nodeConf({
      version: config.nodeVersion,
      hostIp: config.hostIp,
      jobName: `${prefix}-node`,
      pushAddress: kubernetesAddresses.pushgateway,
      pushPort: pushgatewayPort,
      pushIntervalSeconds: config.metricsPushIntervalSeconds,
    }),
  };
}

/** Makes the namespace of a stack, with the provider of its cluster. */
export function kubernetesNamespaceOf(config: StackConfig, prefix: string): KubernetesNamespace {
  const provider = new k8s.Provider("cluster", {
    ...(config.kubernetesContext === undefined ? {} : { context: config.kubernetesContext }),
    ...(config.renderTo === undefined ? {} : { renderYamlToDirectory: config.renderTo }),
    enableServerSideApply: true,
    // A changed ConfigMap or Secret is updated in place; the pod template's checksum rolls the workload.
    enableConfigMapMutable: true,
    enableSecretMutable: true,
  });
  const { protectData } = config;
  return new KubernetesNamespace(`${prefix}-namespace`, {
    ...kubernetesOptions(config, prefix),
    provider,
    protectData,
  });
}
