import type { types } from "@pulumi/kubernetes";
import { namePodsHost } from "../services/stack-context.ts";
import { findPort, type PortSpec, type ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildMetadata, buildSelectorLabels, type Labels } from "./metadata.ts";

type Service = types.input.core.v1.Service;

export function buildKubernetesService(spec: ServiceSpec, options: KubernetesOptions): Service {
  const isPublic = spec.ports.some(({ audience }) => audience === "public");
  const build = isPublic ? buildPublicService : buildNamedService;
  return build({ name: spec.name, spec, ports: spec.ports, options, type: "ClusterIP" });
}

/**
 * Builds the headless Service that resolves to all pods of a service, so that the stack's own Prometheus scrapes each pod, ready or not: a
 * pod's metrics show why it is not ready. Returns `undefined` if the stack has no Prometheus or the service has no metrics.
 */
export function buildPodsService(spec: ServiceSpec, options: KubernetesOptions): Service | undefined {
  if (options.observability?.prometheus === undefined || spec.metrics === undefined) return;
  const ports = [findPort(spec, spec.metrics.port)];
  const service = publishUnreadyPods(
    buildNamedService({ name: namePodsHost(spec.name), spec, ports, options, type: "ClusterIP" }),
  );
  return makeHeadless(service);
}

function makeHeadless(service: Service): Service {
  return { ...service, spec: { ...service.spec, clusterIP: "None" } };
}

/**
 * Builds a node's Services, one per audience: the node's own RPC for the facilitator, the gateway for public access, the sidecar's status
 * for operators, and the peer port if it is exposed.
 */
export function buildNodeServices(
  { node, sidecar }: Readonly<{ node: ServiceSpec; sidecar: ServiceSpec }>,
  options: KubernetesOptions,
): readonly Service[] {
  const rpc = sidecar.ports.filter(({ audience }) => audience === "public");
  const status = sidecar.ports.filter(({ audience }) => audience === "system");
  const inner = node.ports.filter(({ audience }) => audience !== "peers");
  const peers = node.ports.filter(({ audience }) => audience === "peers");
  const shared = { spec: node, options };
  const exposed = options.peers === "node-port" ? "NodePort" : "LoadBalancer";
  const outside = peers.length > 0 && (options.peers === "node-port" || options.peers === "load-balancer");
  const { className, annotations = {} } = options.peerLoadBalancer ?? {};
  return [
    // The StatefulSet's own Service, which must be headless (Kubernetes API, StatefulSetSpec, serviceName).
    makeHeadless(buildNamedService({ ...shared, name: "node", ports: inner, type: "ClusterIP" })),
    buildPublicService({ ...shared, name: "gateway", ports: rpc, type: "ClusterIP" }),
    publishUnreadyPods(buildNamedService({ ...shared, name: "sidecar-status", ports: status, type: "ClusterIP" })),
    ...(outside
      ? [buildNamedService({ ...shared, name: "node-peers", ports: peers, type: exposed, annotations, className })]
      : []),
  ];
}

/** Publishes a pod even while it is not ready, which is when its response matters most. */
function publishUnreadyPods(service: Service): Service {
  return { ...service, spec: { ...service.spec, publishNotReadyAddresses: true } };
}

type ServiceOutline = Readonly<{
  name: string;
  spec: ServiceSpec;
  ports: readonly PortSpec[];
  options: KubernetesOptions;
  type: "ClusterIP" | "NodePort" | "LoadBalancer";
  annotations?: Labels | undefined;
  /** Load balancer class; if absent, the cluster's default. */
  className?: string | undefined;
}>;

function buildPublicService(outline: ServiceOutline): Service {
  const { ingress, gatewayApi } = outline.options;
  const { gateway, resourceServer } = (ingress ?? gatewayApi)?.serviceAnnotations ?? {};
  return buildNamedService({ ...outline, annotations: outline.name === "gateway" ? gateway : resourceServer });
}

function buildNamedService({ name, spec, ports, options, type, annotations = {}, className }: ServiceOutline): Service {
  return {
    metadata: {
      ...buildMetadata(options, name, spec.name),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations: { ...annotations } }),
    },
    spec: {
      type,
      ...(className === undefined ? {} : { loadBalancerClass: className }),
      selector: buildSelectorLabels(options.prefix, spec.name),
      ports: ports.map(({ name: portName, number }) => ({
        name: portName,
        port: number,
        targetPort: number,
        protocol: "TCP",
        // Peers are given the port on which the node listens, so the machines must publish the same port.
        ...(type === "NodePort" ? { nodePort: number } : {}),
      })),
      ...(type === "ClusterIP" ? {} : { externalTrafficPolicy: "Local" }),
    },
  };
}
