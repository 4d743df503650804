import { z } from "zod";
import type { ConfigProblem } from "./config-problem.ts";

const hostName = z.string().regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
const name = z.string().min(1);

const shared = {
  gatewayHost: hostName.describe("Host name of the gateway"),
  resourceServerHost: hostName.describe("Host name of the resource server"),
  annotations: z.record(z.string(), z.string()).default({}).describe("Annotations of the objects"),
  trustedProxies: z
    .array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], "expected an address or a CIDR range"), {
      error: "expected a list of addresses and CIDR ranges",
    })
    .min(1, "expected one address or CIDR range or more, or the key left out")
    .max(64)
    .optional()
    .describe(
      "Addresses of the controller's pods, whose X-Forwarded-For is believed; default is private networks, for one hop",
    ),
};

/** The public way in through an ingress controller. */
export const ingressSchema = z.strictObject({
  ...shared,
  className: name.optional().describe("IngressClass; default is the cluster's"),
  controllerNamespace: name
    .default("ingress-nginx")
    .describe(
      "Namespace of the controller's pods: the only pods from outside that reach the gateway and the resource server",
    ),
  tlsSecret: name.describe("Secret with the certificate of both hosts"),
});

/** The public way in through a Gateway that the cluster has (Gateway API): its listener terminates TLS. */
export const gatewayApiSchema = z.strictObject({
  ...shared,
  name: name.describe("Name of the Gateway"),
  namespace: name.describe("Namespace of the Gateway"),
  listener: name
    .default("https")
    .describe("The Gateway's HTTPS listener; named, because a route without one would also be served in clear"),
  controllerNamespace: name
    .optional()
    .describe("Namespace of the pods that carry the Gateway's traffic; default is the Gateway's own"),
});

/** The public way in through an Ingress. */
export type IngressWay = Readonly<z.output<typeof ingressSchema>>;

/** The public way in through HTTPRoutes. */
export type GatewayWay = Readonly<z.output<typeof gatewayApiSchema>>;

/** Keys of a stack's public way in; both at once are a problem. */
type PublicWay = Readonly<{ ingress?: IngressWay | undefined; gatewayApi?: GatewayWay | undefined }>;

/** Finds the hosts of a stack's public way in on Kubernetes, both behind TLS; `undefined` if it has none. */
export function findPublicHosts({
  ingress,
  gatewayApi,
}: PublicWay): Pick<IngressWay, "gatewayHost" | "resourceServerHost"> | undefined {
  return ingress ?? gatewayApi;
}

/** Finds two public ways in at once, which would serve one host twice. */
export function findPublicWayProblems({ ingress, gatewayApi }: PublicWay): readonly ConfigProblem[] {
  if (ingress === undefined || gatewayApi === undefined) return [];
  return [
    { key: "gatewayApi", message: "found together with ingress; expected one public way in. Remove one of the two." },
  ];
}
