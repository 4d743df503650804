import type { types } from "@pulumi/kubernetes";
import { findPort, type Edge, type ServiceName, type ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildSelectorLabels, buildStackLabels } from "./labels.ts";

type NetworkPolicy = types.input.networking.v1.NetworkPolicy;
type Egress = types.input.networking.v1.NetworkPolicyEgressRule;
type Ingress = types.input.networking.v1.NetworkPolicyIngressRule;

/** Builds the policy that denies all traffic of the namespace's pods; the other policies allow the edges that the specifications name. */
export function denyAll(options: KubernetesOptions): NetworkPolicy {
  return buildPolicy("default-deny", options, { podSelector: {}, policyTypes: ["Ingress", "Egress"] });
}

/** Builds one policy per pod kind, with exactly the edges of the services in it, both ways. */
export function buildEdgePolicies(specs: readonly ServiceSpec[], options: KubernetesOptions): readonly NetworkPolicy[] {
  const pods = [...new Set(specs.map((spec) => findPod(spec.name)))];
  return pods.map((pod) => {
    const inside = specs.filter((spec) => findPod(spec.name) === pod);
    const egress = inside.flatMap((spec) => spec.edges.flatMap((edge) => buildEgress(edge, { specs, pod, options })));
    return buildPolicy(pod, options, {
      podSelector: { matchLabels: { ...buildSelectorLabels(options.prefix, pod) } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        ...buildIngressFromStack(inside, specs, options),
        ...buildIngressFromOutside(inside, options),
        ...buildIngressFromPrometheus(inside, options),
      ],
      // Who opens no connection has no name to look up either.
      egress: egress.length === 0 ? [] : [dns, ...removeDuplicates(egress)],
    });
  });
}

const dns: Egress = {
  to: [{ namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } }],
  ports: [
    { port: 53, protocol: "UDP" },
    { port: 53, protocol: "TCP" },
  ],
};

/** Private addresses: no service has business there by way of an "internet" edge. */
const inner = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10"];

function findPod(service: ServiceName): ServiceName {
  return service === "sidecar" || service === "restore" ? "node" : service;
}

type EgressContext = Readonly<{ specs: readonly ServiceSpec[]; pod: ServiceName; options: KubernetesOptions }>;

function buildEgress(edge: Edge, { specs, pod, options }: EgressContext): readonly Egress[] {
  if (edge.to === "internet") return [{ to: [{ ipBlock: { cidr: "0.0.0.0/0", except: inner } }] }];
  // The API server's address is no pod; clusters put it on 443 or 6443.
  if (edge.to === "api") return [buildEgressToHost(options.apiServerCidr, [443, 6_443])];
  if (edge.to === "host") return [buildEgressToHost(edge.cidr, [edge.port])];
  if (edge.to === "namespace") return [{ to: [{ namespaceSelector: buildNamespaceSelector(edge.namespace) }] }];
  const target = specs.find((spec) => spec.name === edge.to);
  if (target === undefined || findPod(target.name) === pod) return [];
  return [
    {
      to: [{ podSelector: { matchLabels: { ...buildSelectorLabels(options.prefix, target.name) } } }],
      ports: [{ port: findPort(target, edge.port).number, protocol: "TCP" }],
    },
  ];
}

/** Allows ports of a range of addresses; of any host if the range is unknown. */
function buildEgressToHost(cidr: string | undefined, numbers: readonly number[]): Egress {
  const ports = numbers.map((port) => ({ port, protocol: "TCP" }));
  return cidr === undefined ? { ports } : { to: [{ ipBlock: { cidr } }], ports };
}

/** Selects a namespace by its name, which is one of its labels (Kubernetes, "Well-known labels": `kubernetes.io/metadata.name`). */
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
          return [
            {
              from: [{ podSelector: { matchLabels: { ...buildSelectorLabels(options.prefix, source.name) } } }],
              ports: [{ port: findPort(target, edge.port).number, protocol: "TCP" }],
            },
          ];
        }),
      ),
  );
  return removeDuplicates(rules);
}

function buildIngressFromOutside(inside: readonly ServiceSpec[], options: KubernetesOptions): readonly Ingress[] {
  const ports = inside.flatMap((spec) => spec.ports);
  const open = ports
    .filter(({ audience }) => audience === "public")
    .map(({ number }) => ({ port: number, protocol: "TCP" }));
  const peers = ports
    .filter(({ audience }) => audience === "peers")
    .map(({ number }) => ({ port: number, protocol: "TCP" }));
  const { ingress, gatewayApi } = options;
  const controller = ingress?.controllerNamespace ?? gatewayApi?.controllerNamespace ?? gatewayApi?.namespace;
  return [
    ...(open.length === 0 || controller === undefined
      ? []
      : [
          {
            from: [{ namespaceSelector: buildNamespaceSelector(controller) }],
            ports: open,
          },
        ]),
    ...(peers.length === 0 ? [] : [{ ports: peers }]),
  ];
}

/** Allows Prometheus's pods to reach the ports with metrics, and no other ports. */
function buildIngressFromPrometheus(
  inside: readonly ServiceSpec[],
  { observability }: KubernetesOptions,
): readonly Ingress[] {
  const existing = observability?.existing;
  const ports = inside.flatMap((spec) =>
    spec.metrics === undefined ? [] : [{ port: findPort(spec, spec.metrics.port).number, protocol: "TCP" }],
  );
  if (existing === undefined || ports.length === 0) return [];
  const { namespace, podLabels } = existing;
  const pods = Object.keys(podLabels).length === 0 ? {} : { podSelector: { matchLabels: { ...podLabels } } };
  return [{ from: [{ namespaceSelector: buildNamespaceSelector(namespace), ...pods }], ports }];
}

function removeDuplicates<Rule>(rules: readonly Rule[]): Rule[] {
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}

function buildPolicy(
  name: string,
  options: KubernetesOptions,
  spec: types.input.networking.v1.NetworkPolicySpec,
): NetworkPolicy {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name, namespace: options.namespace, labels: buildStackLabels(options.prefix) },
    spec,
  };
}
