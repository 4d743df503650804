import type { types } from "@pulumi/kubernetes";
import { stackServices } from "../stack-services.ts";
import type { IngressExposure, GatewayExposure } from "../config/exposure.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildObjectLabels, type Labels } from "./labels.ts";

/** Builds public access over TLS to the gateway and the resource server; nothing else in the stack is public. */
export function buildPublicIngress(
  options: KubernetesOptions,
  { className, gatewayHost, resourceServerHost, tlsSecret, annotations }: IngressExposure,
): types.input.networking.v1.Ingress {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "public",
      namespace: options.namespace,
      labels: buildObjectLabels(options.prefix, "stack"),
      // By default, Google's load balancer also serves plain HTTP.
      annotations: {
        ...(tlsSecret === undefined ? { "kubernetes.io/ingress.allow-http": "false" } : {}),
        ...annotations,
      },
    },
    spec: {
      ...(className === undefined ? {} : { ingressClassName: className }),
      ...(tlsSecret === undefined
        ? {}
        : { tls: [{ hosts: [gatewayHost, resourceServerHost], secretName: tlsSecret }] }),
      rules: [
        buildRule(gatewayHost, "gateway", stackServices.sidecar.ports.rpc),
        buildRule(resourceServerHost, "resource-server", stackServices["resource-server"].ports.http),
      ],
    },
  };
}

function buildRule(host: string, name: string, port: number): types.input.networking.v1.IngressRule {
  return {
    host,
    http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name, port: { number: port } } } }] },
  };
}

/** A Gateway API route, for which Kubernetes has no built-in type; contains only the fields used here. */
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

/** Builds public access to the gateway and the resource server through a Gateway's HTTPS listener; nothing else is public. */
export function buildPublicRoutes(options: KubernetesOptions, way: GatewayExposure): readonly HttpRoute[] {
  return [
    buildRoute(options, way, { name: "gateway", host: way.gatewayHost, port: stackServices.sidecar.ports.rpc }),
    buildRoute(options, way, {
      name: "resource-server",
      host: way.resourceServerHost,
      port: stackServices["resource-server"].ports.http,
    }),
  ];
}

function buildRoute(
  options: KubernetesOptions,
  way: GatewayExposure,
  { name, host, port }: Readonly<{ name: string; host: string; port: number }>,
): HttpRoute {
  const { namespace } = options;
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: {
      name,
      namespace,
      labels: buildObjectLabels(options.prefix, "stack"),
      annotations: { ...way.annotations },
    },
    spec: {
      parentRefs: [{ name: way.name, namespace: way.namespace, sectionName: way.listener }],
      hostnames: [host],
      rules: [{ backendRefs: [{ name, port }] }],
    },
  };
}
