import { z } from "zod";
import { port, yesOrNo } from "#daemon/settings/types.ts";
import { text } from "./config-types.ts";
import { gatewayApiSchema, ingressSchema } from "./public-way.ts";

const toleration = z.strictObject({
  key: z.string().optional().describe("Key of the taint; absent: all keys"),
  operator: z.enum(["Exists", "Equal"]).optional().describe("Exists or Equal; default is the cluster's, Equal"),
  value: z.string().optional().describe("Value of the taint, with Equal"),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional().describe("Effect; absent: all effects"),
  tolerationSeconds: z.int().min(0).optional().describe("Seconds that a pod stays, with NoExecute"),
});

const nodeScheduling = z.strictObject({
  nodeSelector: z
    .record(z.string().min(1), z.string())
    .optional()
    .describe("Labels of the machines that it may run on"),
  tolerations: z.array(toleration).optional().describe("Taints of machines that it tolerates"),
  affinity: z.record(z.string(), z.unknown()).optional().describe("Affinity, as a pod's specification has it"),
  priorityClassName: z.string().min(1).optional().describe("Priority class"),
});

/** Scheduling of the node's pod: the value of `nodeScheduling`. */
export type NodeScheduling = Readonly<z.output<typeof nodeScheduling>>;

/** Keys for the cluster and its ingress. */
export const kubernetesKeys = {
  namespace: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
    .default("gatehouse")
    .meta({ expected: "a Kubernetes namespace: up to 63 small letters, digits and dashes" })
    .describe("Kubernetes: namespace of the stack, made by it unless createNamespace is false"),
  createNamespace: yesOrNo
    .default(true)
    .describe("Kubernetes: make the namespace; false if it is there, with Secrets that the stack names"),
  kubernetesContext: text("a context of the kubeconfig")
    .optional()
    .describe("Kubernetes: context of the kubeconfig; default is the current one"),
  renderTo: text("a directory for the rendered YAML")
    .optional()
    .describe("Kubernetes: write YAML to this directory instead of to a cluster; secrets in it are plain text"),
  storageClass: text("a storage class of the cluster")
    .optional()
    .describe("Kubernetes: storage class of the claims; default is the cluster's"),
  imagePullSecrets: z
    .array(z.string().min(1).max(253))
    .default([])
    .meta({ expected: "a list of names of Secrets" })
    .describe(
      "Kubernetes: Secrets of the namespace with which images are pulled from registries that require authentication",
    ),
  nodeScheduling: nodeScheduling
    .optional()
    .meta({ expected: "{nodeSelector, tolerations, affinity, priorityClassName}, as a pod's specification has them" })
    .describe(
      "Kubernetes: machines that the node's pod may run on: {nodeSelector, tolerations, affinity, priorityClassName}",
    ),
  apiServerCidr: z
    .union([z.cidrv4(), z.cidrv6()])
    .optional()
    .meta({ expected: "a range of addresses such as 10.1.2.3/32" })
    .describe(
      "Kubernetes: addresses of the API server that network policies allow; default is ports 443 and 6443 of any host",
    ),
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
    .describe("TCP port that peers connect to, on the Docker host or the cluster; default 19000, with node-port 30900"),
  hostIp: z
    .union([z.ipv4(), z.ipv6(), z.hostname().regex(/[a-z]/i)])
    .optional()
    .meta({ expected: "the IP address or host name that peers reach the node at" })
    .describe(
      "Address that the node gives to its peers; on Kubernetes it may be a host name, looked up at each start of the pod, and default is the pod's or its machine's",
    ),
  peerLoadBalancer: z
    .strictObject({
      className: z.string().min(1).optional().describe("Load balancer class; default is the cluster's"),
      annotations: z.record(z.string(), z.string()).default({}).describe("Annotations of the Service"),
    })
    .optional()
    .meta({ expected: "{className, annotations}" })
    .describe("Kubernetes: with peers load-balancer, its {className, annotations}"),
  gatewayApi: gatewayApiSchema
    .optional()
    .meta({ expected: "{name, namespace, gatewayHost, resourceServerHost, …}; see infra/README.md" })
    .describe(
      "Kubernetes: the public way in by HTTPRoutes: {name, namespace, listener, gatewayHost, resourceServerHost, trustedProxies}",
    ),
  ingress: ingressSchema
    .optional()
    .meta({ expected: "{gatewayHost, resourceServerHost, tlsSecret, …}; see infra/README.md" })
    .describe(
      "Kubernetes: the public way in: {gatewayHost, resourceServerHost, tlsSecret, className, controllerNamespace, sourceCidrs, trustedProxies, annotations, serviceAnnotations}",
    ),
};
