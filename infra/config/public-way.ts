import { z } from "zod";
import type { ConfigProblem } from "./config-problem.ts";

const hostName = z.string().regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
const name = z.string().min(1);

const shared = {
  gatewayHost: hostName,
  resourceServerHost: hostName,
  annotations: z.record(z.string(), z.string()).default({}),
  /** Addresses of the controller's pods, whose X-Forwarded-For is believed; default: private networks, for one hop. */
  trustedProxies: z
    .array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()], "expected an address or a CIDR range"), {
      error: "expected a list of addresses and CIDR ranges",
    })
    .min(1, "expected one address or CIDR range or more, or the key left out")
    .max(64)
    .optional(),
};

/** The public way in through an ingress controller. */
export const ingressSchema = z.strictObject({
  ...shared,
  className: name.optional(),
  /** Namespace of the controller's pods: the only pods from outside that reach the gateway and the resource server. */
  controllerNamespace: name.default("ingress-nginx"),
  /** Secret with the certificate of both hosts. */
  tlsSecret: name,
});

/** The public way in through a Gateway that the cluster has (Gateway API): its listener terminates TLS. */
export const gatewayApiSchema = z.strictObject({
  ...shared,
  name,
  namespace: name,
  /** The Gateway's HTTPS listener. Named, because a route without one would also be served in clear. */
  listener: name.default("https"),
  /** Namespace of the pods that carry the Gateway's traffic; default is the Gateway's own. */
  controllerNamespace: name.optional(),
});

/** The public way in through an Ingress. */
export type IngressWay = Readonly<z.output<typeof ingressSchema>>;

/** The public way in through HTTPRoutes. */
export type GatewayWay = Readonly<z.output<typeof gatewayApiSchema>>;

/** What a stack's configuration says of its public way in. */
type PublicWay = Readonly<{ ingress?: IngressWay | undefined; gatewayApi?: GatewayWay | undefined }>;

/** The hosts of a stack's public way in on Kubernetes, both behind TLS; `undefined` where there is none. */
export function findPublicHosts({
  ingress,
  gatewayApi,
}: PublicWay): Pick<IngressWay, "gatewayHost" | "resourceServerHost"> | undefined {
  return ingress ?? gatewayApi;
}

/** Two ways in at once would serve one host twice. */
export function findPublicWayProblems({ ingress, gatewayApi }: PublicWay): readonly ConfigProblem[] {
  if (ingress === undefined || gatewayApi === undefined) return [];
  return [
    { key: "gatewayApi", message: "found together with ingress; expected one public way in. Remove one of the two." },
  ];
}
