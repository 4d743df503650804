import type { types } from "@pulumi/kubernetes";
import { findPort, type Edge, type ServiceName, type ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildMetadata, buildSelectorLabels, findPod } from "./metadata.ts";

type NetworkPolicy = types.input.networking.v1.NetworkPolicy;
type Egress = types.input.networking.v1.NetworkPolicyEgressRule;
type Ingress = types.input.networking.v1.NetworkPolicyIngressRule;

/**
 * Builds the policy that denies all traffic to and from the stack's pods, or all pods in the stack's own namespace; the other policies
 * allow the connections listed in the specifications.
 */
export function denyAll(options: KubernetesOptions): NetworkPolicy {
  const own = { matchLabels: { "app.kubernetes.io/instance": options.prefix } };
  const podSelector = options.createNamespace === false ? own : {};
  return buildPolicy("default-deny", options, { podSelector, policyTypes: ["Ingress", "Egress"] });
}

/** Builds one policy per kind of pod, which allows exactly the connections of the pod's services, in both directions. */
export function buildEdgePolicies(specs: readonly ServiceSpec[], options: KubernetesOptions): readonly NetworkPolicy[] {
  const pods = [...new Set(specs.map((spec) => findPod(spec.name)))];
  return pods.map((pod) => {
    const inside = specs.filter((spec) => findPod(spec.name) === pod);
    const egress = inside.flatMap((spec) => spec.edges.flatMap((edge) => buildEgress(edge, { specs, pod, options })));
    return buildPolicy(pod, options, {
      podSelector: { matchLabels: buildSelectorLabels(options.prefix, pod) },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        ...buildIngressFromStack(inside, specs, options),
        ...buildIngressFromOutside(inside, options),
        ...buildIngressFromPrometheus(inside, options),
      ],
      // A pod that opens no connections needs no DNS.
      egress: egress.length === 0 ? [] : [dns, ...removeDuplicates(egress)],
    });
  });
}

/** Addresses of name servers on each machine: NodeLocal DNSCache, and, on Google's machines, Cloud DNS with the metadata server. */
const machineDns = ["169.254.20.10/32", "169.254.169.254/32", "fd20:ce::254/128"];

const dns: Egress = {
  to: [
    ...["kube-dns", "node-local-dns"].map((app) => ({
      namespaceSelector: {},
      podSelector: { matchLabels: { "k8s-app": app } },
    })),
    ...machineDns.map((cidr) => ({ ipBlock: { cidr } })),
  ],
  ports: [
    { port: 53, protocol: "UDP" },
    { port: 53, protocol: "TCP" },
  ],
};

/** The internet: all addresses except private and link-local ones, which an "internet" edge must not reach. */
const internet = [
  { cidr: "0.0.0.0/0", except: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10"] },
  { cidr: "::/0", except: ["fc00::/7", "fe80::/10"] },
];

type EgressContext = Readonly<{ specs: readonly ServiceSpec[]; pod: ServiceName; options: KubernetesOptions }>;

function buildEgress(edge: Edge, { specs, pod, options }: EgressContext): readonly Egress[] {
  if (edge.to === "internet") return [{ to: internet.map((ipBlock) => ({ ipBlock })) }];
  // The API server's address is not the address of a pod; clusters use port 443 or 6443.
  if (edge.to === "api") return [buildEgressToHost(options.apiServerCidr, [443, 6_443])];
  if (edge.to === "host") return [buildEgressToHost(edge.cidr, [edge.port])];
  if (edge.to === "namespace") return [{ to: [{ namespaceSelector: buildNamespaceSelector(edge.namespace) }] }];
  const target = specs.find((spec) => spec.name === edge.to);
  if (target === undefined || findPod(target.name) === pod) return [];
  return [
    {
      to: [{ podSelector: { matchLabels: buildSelectorLabels(options.prefix, target.name) } }],
      ports: [toTcp(findPort(target, edge.port).number)],
    },
  ];
}

/** Allows ports on a range of addresses; on any host if the range is unknown. */
function buildEgressToHost(cidr: string | undefined, numbers: readonly number[]): Egress {
  const ports = numbers.map(toTcp);
  return cidr === undefined ? { ports } : { to: [{ ipBlock: { cidr } }], ports };
}

/** Selects a namespace by its name label (Kubernetes, "Well-known labels": `kubernetes.io/metadata.name`). */
function buildNamespaceSelector(name: string) {
  return { matchLabels: { "kubernetes.io/metadata.name": name } };
}

function buildIngressFromStack(
  inside: readonly ServiceSpec[],
  specs: readonly ServiceSpec[],
  options: KubernetesOptions,
): readonly Ingress[] {
  const rules = inside.flatMap((target) =>
    specs
      .filter((source) => findPod(source.name) !== findPod(target.name))
      .flatMap((source) =>
        source.edges.flatMap((edge) => {
          if (edge.to !== target.name) return [];
          const from = [{ podSelector: { matchLabels: buildSelectorLabels(options.prefix, source.name) } }];
          return [{ from, ports: [toTcp(findPort(target, edge.port).number)] }];
        }),
      ),
  );
  return removeDuplicates(rules);
}

function buildIngressFromOutside(inside: readonly ServiceSpec[], options: KubernetesOptions): readonly Ingress[] {
  const ports = inside.flatMap((spec) => spec.ports);
  const open = ports.filter(({ audience }) => audience === "public").map(({ number }) => toTcp(number));
  const peers = ports.filter(({ audience }) => audience === "peers").map(({ number }) => toTcp(number));
  const { ingress, gatewayApi } = options;
  const controller = ingress?.controllerNamespace ?? gatewayApi?.controllerNamespace ?? gatewayApi?.namespace;
  const sources = (ingress ?? gatewayApi)?.sourceCidrs?.map((cidr) => ({ ipBlock: { cidr } }));
  const from = sources ?? (controller === undefined ? [] : [{ namespaceSelector: buildNamespaceSelector(controller) }]);
  return [
    // A rule without sources would allow all sources.
    ...(open.length === 0 || from.length === 0 ? [] : [{ from, ports: open }]),
    ...(peers.length === 0 ? [] : [{ ports: peers }]),
  ];
}

/** Allows Prometheus's pods to reach only the metrics ports. */
function buildIngressFromPrometheus(
  inside: readonly ServiceSpec[],
  { observability }: KubernetesOptions,
): readonly Ingress[] {
  const existing = observability?.existing;
  const ports = inside.flatMap((spec) =>
    spec.metrics === undefined ? [] : [toTcp(findPort(spec, spec.metrics.port).number)],
  );
  if (existing === undefined || ports.length === 0) return [];
  const { namespace, podLabels } = existing;
  const pods = Object.keys(podLabels).length === 0 ? {} : { podSelector: { matchLabels: { ...podLabels } } };
  return [{ from: [{ namespaceSelector: buildNamespaceSelector(namespace), ...pods }], ports }];
}

function toTcp(port: number) {
  return { port, protocol: "TCP" };
}

function removeDuplicates<Rule>(rules: readonly Rule[]): Rule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}

function buildPolicy(
  name: ServiceName | "default-deny",
  options: KubernetesOptions,
  spec: types.input.networking.v1.NetworkPolicySpec,
): NetworkPolicy {
  return { metadata: buildMetadata(options, name, name === "default-deny" ? "stack" : name), spec };
}
