import { z } from "zod";
import { cloudCertificates } from "#policies/cloud-certificates.ts";
import { describeProblem, setKey, type ConfigProblem } from "./config-problem.ts";

const hostName = z.string().regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
const name = z.string().min(1);

const annotations = z.record(z.string(), z.string()).default({});

const shared = {
  gatewayHost: hostName.describe("Host name for the gateway"),
  resourceServerHost: hostName.describe("Host name for the resource server"),
  annotations: annotations.describe("Annotations on the created objects"),
  serviceAnnotations: z
    .strictObject({
      gateway: annotations.describe("Annotations on the gateway's Service"),
      resourceServer: annotations.describe("Annotations on the resource server's Service"),
    })
    .prefault({})
    .describe("Annotations on the Services {gateway, resourceServer}, for a cloud load balancer"),
  sourceCidrs: z
    .array(z.union([z.cidrv4(), z.cidrv6()], "expected a CIDR range"))
    .min(1)
    .max(64)
    .optional()
    .describe(
      "CIDRs from which an external load balancer reaches the pods; network policies admit these instead of a namespace's pods",
    ),
  trustedProxies: z
    .array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], "expected an address or a CIDR range"), {
      error: "expected a list of addresses and CIDR ranges",
    })
    .min(1, "expected at least one address or CIDR range; otherwise remove the key")
    .max(64)
    .optional()
    .describe(
      "Addresses of proxies whose X-Forwarded-For is trusted, such as the controller's pods; default: sourceCidrs, else private networks, for one hop",
    ),
};

export const ingressSchema = z.strictObject({
  ...shared,
  className: name.optional().describe("IngressClass; default: the cluster's"),
  controllerNamespace: name
    .default("ingress-nginx")
    .describe(
      "Namespace of the controller's pods, the only external pods admitted to the gateway and the resource server",
    ),
  tlsSecret: name
    .optional()
    .describe(
      "TLS Secret with the certificate for both hosts; without it, annotations specify the load balancer's certificate",
    ),
});

/** Public access through an existing Gateway in the cluster (Gateway API), whose listener terminates TLS. */
export const gatewayApiSchema = z.strictObject({
  ...shared,
  name: name.describe("Gateway name"),
  namespace: name.describe("Gateway namespace"),
  listener: name
    .default("https")
    .describe(
      "HTTPS listener of the Gateway; required, because routes without a listener would also be served over HTTP",
    ),
  controllerNamespace: name
    .optional()
    .describe("Namespace of the pods that proxy the Gateway's traffic; default: the Gateway's own"),
});

export type IngressExposure = Readonly<z.output<typeof ingressSchema>>;

export type GatewayExposure = Readonly<z.output<typeof gatewayApiSchema>>;

/** Public access keys of a stack; setting both is a problem. */
type PublicExposure = Readonly<{ ingress?: IngressExposure | undefined; gatewayApi?: GatewayExposure | undefined }>;

/** Returns a Kubernetes stack's public hosts, both of which are behind TLS; returns `undefined` if it has no public access. */
export function findPublicHosts({
  ingress,
  gatewayApi,
}: PublicExposure): Pick<IngressExposure, "gatewayHost" | "resourceServerHost"> | undefined {
  return ingress ?? gatewayApi;
}

/**
 * Reports a stack that sets both kinds of public access, because one host would be served twice, and an Ingress without certificates,
 * because both hosts would be served in cleartext.
 */
export function findExposureProblems({ ingress, gatewayApi }: PublicExposure): readonly ConfigProblem[] {
  const hasCertificate =
    ingress?.tlsSecret !== undefined || cloudCertificates.some((annotation) => ingress?.annotations[annotation]);
  if (ingress !== undefined && !hasCertificate) {
    const key = "ingress.tlsSecret";
    const wrong = `missing, and no ingress annotation specifies a cloud certificate (${cloudCertificates.join(", ")}).`;
    return [describeProblem(key, wrong, "Set one of them", setKey(key, { path: true, value: "public-tls" }), ".")];
  }
  if (ingress === undefined || gatewayApi === undefined) return [];
  return [{ key: "gatewayApi", message: "found together with ingress; only one may be set. Remove one of the two." }];
}
