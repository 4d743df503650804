import type { StackConfig } from "../config/config-schema.ts";
import { describeProblem, setKeyTo, type ConfigProblem } from "../config/config-problem.ts";
import { findRenderedValue, type SettingsTree } from "./rendered-settings.ts";

/** Proxies in front of a stack's public services, in the format of the services' settings. */
export type PublicProxies = Readonly<{ trustedProxies: readonly string[]; forwardedHops?: number }>;

/**
 * Pod networks that clusters typically use: private ranges (RFC 1918, 6598, 4193). Excludes loopback: a connection from loopback, such as a
 * port-forward's, has not passed through a proxy.
 */
const podNetworks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"];

/**
 * Returns the proxies for a stack with public access; `undefined` otherwise. Only the cluster knows the controller's addresses, but the
 * network policies admit no other pod, so by default any private address counts as the controller. It is trusted for one hop: a client
 * whose own address is private, or was rewritten to a private one by a load balancer, is still not trusted.
 */
export function findPublicProxies({ ingress, gatewayApi }: StackConfig): PublicProxies | undefined {
  const exposure = ingress ?? gatewayApi;
  if (exposure === undefined) return undefined;
  const { trustedProxies = exposure.sourceCidrs } = exposure;
  return trustedProxies === undefined ? { trustedProxies: podNetworks, forwardedHops: 1 } : { trustedProxies };
}

/** Warns about proxies that are trusted by default because the stack configures none; `undefined` if the stack configures some. */
export function findTrustedProxyWarning({ target, ingress, gatewayApi }: StackConfig): ConfigProblem | undefined {
  const exposure = ingress ?? gatewayApi;
  if (target !== "kubernetes" || exposure === undefined) return undefined;
  if (exposure.trustedProxies !== undefined || exposure.sourceCidrs !== undefined) return undefined;
  const key = ingress === undefined ? "gatewayApi" : "ingress";
  const namespace =
    exposure.controllerNamespace ?? (gatewayApi === undefined ? "the controller's namespace" : gatewayApi.namespace);
  return describeProblem(
    `${key}.trustedProxies`,
    `not set, so X-Forwarded-For is trusted from every private address (${podNetworks.join(", ")}).`,
    `This is safe only if network policies are enforced (they admit only the pods of ${namespace}) and these pods have private addresses. Otherwise, set their address range (\`kubectl get pods -n ${namespace} -o wide\` shows it): `,
    setKeyTo("", `${key}.trustedProxies[0]`, { value: "10.244.0.0/16" }),
    ".",
  );
}

const lists = [
  { service: "sidecar", path: ["gateway", "callers", "trustedProxies"] },
  { service: "resource-server", path: ["listen", "trustedProxies"] },
] as const;

export function findTrustedProxiesProblems(config: StackConfig): readonly ConfigProblem[] {
  if (findPublicProxies(config) === undefined) return [];
  const exposureKey = config.ingress === undefined ? "gatewayApi" : "ingress";
  return lists
    .filter(({ service, path }) => {
      const given = findRenderedValue((config.settings[service] ?? {}) as SettingsTree, path);
      return Array.isArray(given) && given.length === 0;
    })
    .map(({ service, path }) => ({
      key: `settings.${service}.${path.join(".")}`,
      message: `found an empty list with ${exposureKey}, so every client would have the controller's address and share one client's limits. Remove it, or list the controller's addresses in ${exposureKey}.trustedProxies.`,
    }));
}
