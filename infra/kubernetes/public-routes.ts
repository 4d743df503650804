import type { GatewayWay } from "../config/public-way.ts";
import { resourceServerPort } from "../services/resource-server-spec.ts";
import { gatewayPort } from "../services/sidecar-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { stackLabels, type Labels } from "./labels.ts";

/** A route of the Gateway API, which Kubernetes itself has no type for: the part of it that is used here. */
export type HttpRoute = Readonly<{
  apiVersion: "gateway.networking.k8s.io/v1";
  kind: "HTTPRoute";
  metadata: Readonly<{ name: string; namespace: string; labels: Labels; annotations: Labels }>;
  spec: Readonly<{
    parentRefs: readonly Readonly<{ name: string; namespace: string; sectionName: string }>[];
    hostnames: readonly string[];
    rules: readonly Readonly<{ backendRefs: readonly Readonly<{ name: string; port: number }>[] }>[];
  }>;
}>;

/** The public way in through a Gateway's HTTPS listener, to the gateway and to the resource server: nothing else is public. */
export function publicRoutes(options: KubernetesOptions, way: GatewayWay): readonly HttpRoute[] {
  return [
    route(options, way, { name: "gateway", host: way.gatewayHost, port: gatewayPort }),
    route(options, way, { name: "resource-server", host: way.resourceServerHost, port: resourceServerPort }),
  ];
}

function route(
  options: KubernetesOptions,
  way: GatewayWay,
  { name, host, port }: Readonly<{ name: string; host: string; port: number }>,
): HttpRoute {
  const { namespace } = options;
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name, namespace, labels: stackLabels(options.prefix), annotations: { ...way.annotations } },
    spec: {
      parentRefs: [{ name: way.name, namespace: way.namespace, sectionName: way.listener }],
      hostnames: [host],
      rules: [{ backendRefs: [{ name, port }] }],
    },
  };
}
