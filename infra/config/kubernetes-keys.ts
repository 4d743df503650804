import { z } from "zod";
import { port, yesOrNo } from "#daemon/settings/types.ts";
import { namespace, text } from "./config-types.ts";
import { gatewayApiSchema, ingressSchema } from "./exposure.ts";

const toleration = z.strictObject({
  key: z.string().optional().describe("Taint key; default: all keys"),
  operator: z.enum(["Exists", "Equal"]).optional().describe("Exists or Equal; default: the cluster's, Equal"),
  value: z.string().optional().describe("Taint value, with Equal"),
  effect: z
    .enum(["NoSchedule", "PreferNoSchedule", "NoExecute"])
    .optional()
    .describe("Taint effect; default: all effects"),
  tolerationSeconds: z.int().min(0).optional().describe("Seconds that a pod may stay after NoExecute"),
});

const nodeScheduling = z.strictObject({
  nodeSelector: z.record(z.string().min(1), z.string()).optional().describe("Labels of allowed machines"),
  tolerations: z.array(toleration).optional().describe("Tolerated taints"),
  affinity: z.record(z.string(), z.unknown()).optional().describe("Affinity, as in a pod specification"),
  priorityClassName: z.string().min(1).optional().describe("Priority class"),
});

export const kubernetesKeys = {
  namespace: namespace
    .default("gatehouse")
    .meta({ expected: "a Kubernetes namespace: up to 63 lowercase letters, digits and dashes" })
    .describe("Kubernetes: namespace for the stack; created unless createNamespace is false"),
  createNamespace: yesOrNo
    .default(true)
    .describe(
      "Kubernetes: create the namespace; set to false if it exists, with the Secrets that the stack references",
    ),
  kubernetesContext: text("a context of the kubeconfig")
    .optional()
    .describe("Kubernetes: kubeconfig context; default: the current one"),
  renderTo: text("a directory for the rendered YAML")
    .optional()
    .describe("Kubernetes: write YAML to this directory instead of deploying; secrets in it are plain text"),
  storageClass: text("a storage class of the cluster")
    .optional()
    .describe("Kubernetes: storage class for volume claims; default: the cluster's"),
  imagePullSecrets: z
    .array(z.string().min(1).max(253))
    .default([])
    .meta({ expected: "a list of Secret names" })
    .describe("Kubernetes: image pull Secrets in the namespace"),
  nodeScheduling: nodeScheduling
    .optional()
    .meta({ expected: "{nodeSelector, tolerations, affinity, priorityClassName}, as in a pod specification" })
    .describe(
      "Kubernetes: scheduling constraints for the node's pod: {nodeSelector, tolerations, affinity, priorityClassName}",
    ),
  apiServerCidr: z
    .union([z.cidrv4(), z.cidrv6()])
    .optional()
    .meta({ expected: "a range of addresses such as 10.1.2.3/32" })
    .describe("Kubernetes: API server CIDR for network policies; default: ports 443 and 6443 on any host"),
  nodeRestart: z
    .enum(["delete-pod", "signal"])
    .default("delete-pod")
    .meta({ expected: "delete-pod or signal" })
    .describe(
      "Kubernetes: how the sidecar restarts the node: delete-pod, or signal through a shared process namespace",
    ),
  peers: z
    .enum(["none", "node-port", "load-balancer", "host-port"])
    .default("none")
    .meta({ expected: "none, node-port, load-balancer or host-port" })
    .describe("Kubernetes: how peers reach the node: none, node-port, load-balancer or host-port"),
  peerPort: port
    .min(1)
    .optional()
    .meta({ notSet: 0 })
    .describe("TCP port for peers, on the Docker host or the cluster; default: 19000, with node-port 30900"),
  hostIp: z
    .union([z.ipv4(), z.ipv6(), z.hostname().regex(/[a-z]/i)])
    .optional()
    .meta({ expected: "the IP address or host name at which peers reach the node" })
    .describe(
      "Address that the node advertises to peers; on Kubernetes it may be a host name, resolved at each pod start. Default on Kubernetes: the address of the pod or its machine",
    ),
  peerLoadBalancer: z
    .strictObject({
      className: z.string().min(1).optional().describe("Load balancer class; default: the cluster's"),
      annotations: z.record(z.string(), z.string()).default({}).describe("Service annotations"),
    })
    .optional()
    .meta({ expected: "{className, annotations}" })
    .describe("Kubernetes: {className, annotations} for peers load-balancer"),
  gatewayApi: gatewayApiSchema
    .optional()
    .meta({ expected: "{name, namespace, gatewayHost, resourceServerHost, …}; see infra/README.md" })
    .describe(
      "Kubernetes: public access through HTTPRoutes: {name, namespace, listener, gatewayHost, resourceServerHost, trustedProxies}",
    ),
  ingress: ingressSchema
    .optional()
    .meta({ expected: "{gatewayHost, resourceServerHost, tlsSecret, …}; see infra/README.md" })
    .describe(
      "Kubernetes: public access through an Ingress: {gatewayHost, resourceServerHost, tlsSecret, className, controllerNamespace, sourceCidrs, trustedProxies, annotations, serviceAnnotations}",
    ),
};
