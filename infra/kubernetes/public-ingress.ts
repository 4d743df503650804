import type { types } from "@pulumi/kubernetes";
import { stackServices } from "../stack-services.ts";
import type { IngressExposure, GatewayExposure } from "../config/exposure.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildMetadata, type CustomObject } from "./metadata.ts";

/** Builds public access over TLS to the gateway and the resource server; nothing else in the stack is public. */
export function buildPublicIngress(
  options: KubernetesOptions,
  { className, gatewayHost, resourceServerHost, tlsSecret, annotations }: IngressExposure,
): types.input.networking.v1.Ingress {
  return {
    metadata: {
      ...buildMetadata(options, "public", "stack"),
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

/** Builds public access to the gateway and the resource server through a Gateway's HTTPS listener; nothing else is public. */
export function buildPublicRoutes(
  options: KubernetesOptions,
  { name: gateway, namespace, listener, annotations, ...hosts }: GatewayExposure,
): readonly CustomObject[] {
  const routes = [
    { name: "gateway", host: hosts.gatewayHost, port: stackServices.sidecar.ports.rpc },
    { name: "resource-server", host: hosts.resourceServerHost, port: stackServices["resource-server"].ports.http },
  ];
  return routes.map(({ name, host, port }) => ({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { ...buildMetadata(options, name, "stack"), annotations },
    spec: {
      parentRefs: [{ name: gateway, namespace, sectionName: listener }],
      hostnames: [host],
      rules: [{ backendRefs: [{ name, port }] }],
    },
  }));
}
