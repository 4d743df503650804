import type { PolicyResource } from "../rule.ts";

type Props = Readonly<Record<string, unknown>>;

const digest = `sha256:${"a".repeat(64)}`;

/** Builds a Docker container that breaks no rule, with some properties changed. */
export function buildDockerContainer(change: Props = {}, service = "facilitator"): PolicyResource {
  return {
    type: "docker:index/container:Container",
    name: `gh-${service}`,
    protect: false,
    props: {
      image: digest,
      envs: ["GATEHOUSE_FACILITATOR_CHAIN_ID=1672"],
      labels: [{ label: "io.gatehouse.service", value: service }],
      user: "10001:10001",
      readOnly: true,
      capabilities: { drops: ["ALL"] },
      securityOpts: ["no-new-privileges:true"],
      memory: 512,
      cpus: "1.0",
      healthcheck: { tests: ["CMD", "true"] },
      networksAdvanced: [{ name: "gh-private" }],
      stopTimeout: 300,
      volumes: [],
      ports: [],
      ...change,
    },
  };
}

/** Builds a single-node Kubernetes StatefulSet that breaks no rule, with changes to its container and its pod. */
export function buildStatefulSet(
  container: Props = {},
  pod: Props = {},
  { service = "node", spec = {} }: Readonly<{ service?: string; spec?: Props }> = {},
): PolicyResource {
  return {
    type: "kubernetes:apps/v1:StatefulSet",
    name: `gh-${service}`,
    protect: false,
    props: {
      metadata: { name: service, namespace: "gatehouse" },
      spec: {
        template: {
          metadata: { labels: { "app.kubernetes.io/component": service } },
          spec: {
            terminationGracePeriodSeconds: 300,
            securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: "RuntimeDefault" } },
            containers: [buildKubernetesContainer(container)],
            ...pod,
          },
        },
        ...spec,
      },
    },
  };
}

/** Builds a Kubernetes container that breaks no rule, with some fields changed. */
export function buildKubernetesContainer(change: Props = {}): Props {
  return {
    name: "main",
    image: `registry.example/gatehouse@${digest}`,
    env: [{ name: "GATEHOUSE_FACILITATOR_CHAIN_ID", value: "1672" }],
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    resources: { limits: { cpu: "1", memory: "512Mi" } },
    readinessProbe: { httpGet: {} },
    livenessProbe: { httpGet: {} },
    ...change,
  };
}

export function buildResource(type: string, props: Props, { name = "it", protect = false } = {}): PolicyResource {
  return { type, name, props, protect };
}

/** Builds a NetworkPolicy that denies everything in a namespace. */
export function denyAll(namespace = "gatehouse"): PolicyResource {
  return buildResource("kubernetes:networking.k8s.io/v1:NetworkPolicy", {
    metadata: { name: "deny", namespace },
    spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
  });
}
