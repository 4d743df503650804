import type { types } from "@pulumi/kubernetes";
import { resourceServerPort } from "../services/resource-server-spec.ts";
import { gatewayPort } from "../services/sidecar-spec.ts";
import type { IngressWay } from "../config/public-way.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { stackLabels } from "./labels.ts";

/** The public way in, over TLS, to the gateway and to the resource server: nothing else of the stack is public. */
export function publicIngress(
  options: KubernetesOptions,
  { className, gatewayHost, resourceServerHost, tlsSecret, annotations }: IngressWay,
): types.input.networking.v1.Ingress {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "public",
      namespace: options.namespace,
      labels: stackLabels(options.prefix),
      annotations: { ...annotations },
    },
    spec: {
      ...(className === undefined ? {} : { ingressClassName: className }),
      tls: [{ hosts: [gatewayHost, resourceServerHost], secretName: tlsSecret }],
      rules: [
        rule(gatewayHost, "gateway", gatewayPort),
        rule(resourceServerHost, "resource-server", resourceServerPort),
      ],
    },
  };
}

function rule(host: string, name: string, port: number): types.input.networking.v1.IngressRule {
  return {
    host,
    http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name, port: { number: port } } } }] },
  };
}
