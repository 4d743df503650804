import { describe, expect, it } from "vitest";
import { parseConfig } from "../stack-config.ts";
import { findPublicProxies, findTrustedProxyWarning } from "./trusted-proxies.ts";
import { listConfigProblems } from "../testing/config-problems.ts";

const hosts = { gatewayHost: "rpc.example", resourceServerHost: "paid.example" };
const publicAccessKinds = {
  ingress: { ...hosts, tlsSecret: "tls" },
  gatewayApi: { ...hosts, name: "public", namespace: "gateways" },
} as const;

/** A stack on Kubernetes with one kind of public access, and other configuration. */
function stackWith(accessKind: keyof typeof publicAccessKinds, more: object = {}, settings: object = {}) {
  return parseConfig({
    target: "kubernetes",
    gatehouseImage: "x",
    devnetImage: "y",
    [accessKind]: JSON.stringify({ ...publicAccessKinds[accessKind], ...more }),
    settings: JSON.stringify(settings),
  });
}

describe.each(["ingress", "gatewayApi"] as const)("a stack with %s", (accessKind) => {
  it("trusts one hop from private networks, with a warning", () => {
    const stack = stackWith(accessKind);
    expect(findPublicProxies(stack)).toEqual({
      trustedProxies: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"],
      forwardedHops: 1,
    });
    const namespace = accessKind === "ingress" ? "ingress-nginx" : "gateways";
    const warning = findTrustedProxyWarning(stack);
    expect(warning?.key).toBe(`${accessKind}.trustedProxies`);
    expect(warning?.message).toBe(
      `not set, so X-Forwarded-For is trusted from every private address (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7). This is safe only if network policies are enforced (they admit only the pods of ${namespace}) and these pods have private addresses. Otherwise, set their address range (\`kubectl get pods -n ${namespace} -o wide\` shows it): \`pulumi config set --path '${accessKind}.trustedProxies[0]' 10.244.0.0/16\`.`,
    );
  });

  it("trusts the configured proxies without a warning", () => {
    const stack = stackWith(accessKind, { trustedProxies: ["10.244.0.0/16", "2001:db8::/64"] });
    expect(findPublicProxies(stack)).toEqual({ trustedProxies: ["10.244.0.0/16", "2001:db8::/64"] });
    expect(findTrustedProxyWarning(stack)).toBeUndefined();
  });

  it.each([[[]], [["everybody"]], [["10.0.0.0/33"]], ["10.0.0.0/8"]])("rejects trustedProxies %j", (trustedProxies) => {
    expect(listConfigProblems(() => stackWith(accessKind, { trustedProxies }))).toEqual([
      expect.stringMatching(new RegExp(`^${accessKind}\\.trustedProxies.*expected`)),
    ]);
  });

  it("rejects an empty trustedProxies list in a service's settings", () => {
    const settings = {
      sidecar: { gateway: { callers: { trustedProxies: [] } } },
      "resource-server": { listen: { trustedProxies: [] } },
    };
    const why = `found an empty list with ${accessKind}, so every client would have the controller's address and share one client's limits. Remove it, or list the controller's addresses in ${accessKind}.trustedProxies.`;
    expect(listConfigProblems(() => stackWith(accessKind, {}, settings))).toEqual([
      `settings.sidecar.gateway.callers.trustedProxies: ${why}`,
      `settings.resource-server.listen.trustedProxies: ${why}`,
    ]);
  });
});

it("trusts no proxy without an ingress", () => {
  const stack = parseConfig({ target: "docker" });
  expect(findPublicProxies(stack)).toBeUndefined();
  expect(findTrustedProxyWarning(stack)).toBeUndefined();
});
