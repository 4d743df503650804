import { describe, expect, it } from "vitest";
import type { PolicyResource } from "../rule.ts";
import {
  buildDockerContainer,
  buildKubernetesContainer,
  buildResource,
  buildStatefulSet,
} from "../testing/sample-resources.ts";
import { allRules } from "./all-rules.ts";

type Case = readonly [what: string, resource: PolicyResource, finding: RegExp | undefined];

const socket = { hostPath: "/var/run/docker.sock", containerPath: "/run/docker.sock" };
const claim = "kubernetes:core/v1:PersistentVolumeClaim";
const service = (spec: Record<string, unknown>) => buildResource("kubernetes:core/v1:Service", { spec });
const ingress = (spec: Record<string, unknown>) => buildResource("kubernetes:networking.k8s.io/v1:Ingress", { spec });
const cloudIngress = (annotations: Record<string, string>) =>
  buildResource("kubernetes:networking.k8s.io/v1:Ingress", {
    metadata: { annotations },
    spec: { rules: [{ host: "a.example" }] },
  });
const route = (parent: Record<string, unknown>, backend: string) =>
  buildResource("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", {
    spec: { parentRefs: [{ name: "public", ...parent }], rules: [{ backendRefs: [{ name: backend, port: 1 }] }] },
  });
const backend = (name: string, number: number) => ({
  http: { paths: [{ path: "/", backend: { service: { name, port: { number } } } }] },
});
const remoteImage = (name: string) => buildResource("docker:index/remoteImage:RemoteImage", { name });
const env = (name: string, value: string) => buildStatefulSet({ env: [{ name, value }] });

/** For each rule: a passing case (no finding), a failing one, and one with the wrong type. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  "image-pinned": [
    ["a Docker image by id", buildDockerContainer(), undefined],
    [
      "a Docker image by tag",
      buildDockerContainer({ image: "gatehouse:latest" }),
      /gatehouse:latest, which has no digest/,
    ],
    ["an image pulled by tag", remoteImage("registry.example/x:1"), /pulls registry.example\/x:1, which has no digest/],
    ["an image pulled by digest", remoteImage(`registry.example/x@sha256:${"b".repeat(64)}`), undefined],
    [
      "an image pulled from a registry that is not allowed",
      remoteImage(`evil.example/x@sha256:${"b".repeat(64)}`),
      /pulls evil.*allowed/,
    ],
    ["an image of the wrong type", buildDockerContainer({ image: 7 }), /has no valid image/],
    ["an image from an allowed registry", buildStatefulSet(), undefined],
    [
      "an image from a registry that is not allowed",
      buildStatefulSet({ image: `evil.example/x@sha256:${"b".repeat(64)}` }),
      /allowed registries are/,
    ],
    [
      "an init container by tag",
      buildStatefulSet({}, { initContainers: [{ name: "seed", image: "x:1" }] }),
      /container seed: /,
    ],
  ],
  "no-host-access": [
    ["a plain container", buildDockerContainer(), undefined],
    ["a privileged container", buildDockerContainer({ privileged: true }), /is privileged/],
    ["privileged as text", buildDockerContainer({ privileged: "true" }), /is privileged/],
    ["the host's network namespace", buildDockerContainer({ networkMode: "host" }), /host's network namespace/],
    ["the host's process namespace", buildStatefulSet({}, { hostPID: true }), /host's pid namespace/],
    ["a privileged pod", buildStatefulSet({ securityContext: { privileged: true } }), /is privileged/],
    [
      "a mount of the host's /etc",
      buildDockerContainer({ volumes: [{ hostPath: "/etc/ssl", containerPath: "/x" }] }),
      /mounts \/etc\/ssl/,
    ],
    [
      "a mount of the host's data disk",
      buildDockerContainer({ volumes: [{ hostPath: "/mnt/chain", containerPath: "/data" }] }),
      undefined,
    ],
  ],
  "engine-socket": [
    ["the engine's socket in the engine proxy", buildDockerContainer({ volumes: [socket] }, "engine-proxy"), undefined],
    [
      "the engine's socket in the sidecar",
      buildDockerContainer({ volumes: [socket] }, "sidecar"),
      /is not the engine proxy/,
    ],
    ["volumes of the wrong type", buildDockerContainer({ volumes: "x" }), undefined],
    [
      "the engine's socket in a pod",
      buildStatefulSet(
        { volumeMounts: [{ name: "s", mountPath: "/s" }] },
        { volumes: [{ name: "s", hostPath: { path: "/run/containerd/containerd.sock" } }] },
      ),
      /mounts the engine's socket/,
    ],
  ],
  "non-root": [
    ["a numeric user", buildDockerContainer(), undefined],
    ["the root user", buildDockerContainer({ user: "0:0" }), /runs as 0:0/],
    ["a missing user", buildDockerContainer({ user: undefined }), /has no user/],
    ["a user of the wrong type", buildDockerContainer({ user: 0 }), /has no user/],
    ["a non-root pod", buildStatefulSet(), undefined],
    ["a root pod", buildStatefulSet({ securityContext: { runAsUser: 0 } }), /runs as 0/],
  ],
  confined: [
    ["a confined container", buildDockerContainer(), undefined],
    ["kept capabilities", buildDockerContainer({ capabilities: {} }), /does not drop ALL/],
    [
      "an added capability",
      buildDockerContainer({ capabilities: { drops: ["ALL"], adds: ["CAP_SYS_ADMIN"] } }),
      /CAP_SYS_ADMIN/,
    ],
    [
      "security options of the wrong type",
      buildDockerContainer({ securityOpts: "no-new-privileges" }),
      /allows new privileges/,
    ],
    ["a confined pod", buildStatefulSet(), undefined],
    ["a pod without seccomp", buildStatefulSet({}, { securityContext: { runAsUser: 1 } }), /no seccomp profile/],
  ],
  "read-only-root": [
    ["a read-only container", buildDockerContainer(), undefined],
    ["a writable container", buildDockerContainer({ readOnly: false }), /writable root/],
    ["a root setting of the wrong type", buildDockerContainer({ readOnly: "yes" }), /writable root/],
    [
      "a one-shot container",
      buildDockerContainer({ readOnly: false, mustRun: false, attach: true, restart: "no" }),
      undefined,
    ],
    ["a writable pod", buildStatefulSet({ securityContext: {} }), /writable root/],
  ],
  "resource-limits": [
    ["a container with limits", buildDockerContainer(), undefined],
    ["a container without a memory limit", buildDockerContainer({ memory: 0 }), /no memory limit/],
    ["limits of the wrong type", buildDockerContainer({ cpus: 1, memory: "1G" }), /no CPU limit/],
    ["a pod with limits", buildStatefulSet(), undefined],
    ["a pod without limits", buildStatefulSet({ resources: {} }), /no CPU limit/],
  ],
  probes: [
    ["a container with a health check", buildDockerContainer(), undefined],
    ["a container without a health check", buildDockerContainer({ healthcheck: undefined }), /no health check/],
    ["a health check of the wrong type", buildDockerContainer({ healthcheck: "curl" }), /no health check/],
    ["a container that is never started", buildDockerContainer({ healthcheck: undefined, start: false }), undefined],
    ["a pod with probes", buildStatefulSet(), undefined],
    ["a pod without a liveness probe", buildStatefulSet({ livenessProbe: undefined }), /no liveness probe/],
    ["an init container", buildStatefulSet({}, { initContainers: [{ name: "once" }] }), undefined],
  ],
  "private-ports": [
    [
      "the published gateway",
      buildDockerContainer({ ports: [{ internal: 8_545, external: 8_545, ip: "0.0.0.0" }] }),
      undefined,
    ],
    [
      "the node's published RPC",
      buildDockerContainer({ ports: [{ internal: 18_100, external: 80 }] }),
      /the node's JSON-RPC over HTTP/,
    ],
    [
      "the status published on loopback",
      buildDockerContainer({ ports: [{ internal: 9_600, ip: "127.0.0.1" }] }),
      undefined,
    ],
    [
      "the status published on all addresses",
      buildDockerContainer({ ports: [{ internal: 9_600, ip: "0.0.0.0" }] }),
      /sidecar's status/,
    ],
    [
      "a database published on all addresses",
      buildDockerContainer({ ports: [{ internal: 5_432, ip: "0.0.0.0" }] }),
      /PostgreSQL/,
    ],
    [
      "Prometheus published on all addresses",
      buildDockerContainer({ ports: [{ internal: 9_090, ip: "0.0.0.0" }] }),
      /Prometheus/,
    ],
    [
      "Alertmanager published on all addresses",
      buildDockerContainer({ ports: [{ internal: 9_093, ip: "0.0.0.0" }] }),
      /Alertmanager/,
    ],
    [
      "Grafana published on all addresses",
      buildDockerContainer({ ports: [{ internal: 3_000, ip: "0.0.0.0" }] }),
      /Grafana/,
    ],
    [
      "the facilitator's published metrics",
      buildDockerContainer({ ports: [{ internal: 9_602 }] }),
      /facilitator's health and metrics/,
    ],
    ["publishAllPorts", buildDockerContainer({ publishAllPorts: true }), /publishes all/],
    ["ports of the wrong type", buildDockerContainer({ ports: "8545" }), undefined],
    ["an internal Service", service({ ports: [{ port: 9_091 }] }), undefined],
    [
      "the resource server's metrics published on all addresses",
      buildDockerContainer({ ports: [{ internal: 9_601, ip: "0.0.0.0" }] }),
      /resource server's health and metrics/,
    ],
    ["an Ingress to the gateway for token holders", ingress({ rules: [backend("gateway", 8_547)] }), undefined],
    ["an Ingress to the resource server", ingress({ rules: [backend("resource-server", 4_021)] }), undefined],
    [
      "an Ingress to the resource server's metrics",
      ingress({ rules: [backend("resource-server", 9_601)] }),
      /makes the resource server's health and metrics public/,
    ],
    [
      "an Ingress with the sidecar's status as its default backend",
      ingress({ defaultBackend: { service: { name: "sidecar-status", port: { number: 9_600 } } } }),
      /makes the sidecar's status public/,
    ],
    [
      "a route to the resource server's metrics",
      buildResource("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", {
        spec: { rules: [{ backendRefs: [{ name: "resource-server", port: 9_601 }] }] },
      }),
      /makes the resource server's health and metrics public/,
    ],
    ["a public Pushgateway", service({ type: "LoadBalancer", ports: [{ port: 9_091 }] }), /the Pushgateway/],
  ],
  "chain-data": [
    [
      "a protected volume",
      buildResource("docker:index/volume:Volume", { name: "gh-node-workspace" }, { protect: true }),
      undefined,
    ],
    [
      "an unprotected volume",
      buildResource("docker:index/volume:Volume", { name: "gh-node-workspace" }),
      /not protected/,
    ],
    ["a volume of files", buildResource("docker:index/volume:Volume", { name: "gh-node-files" }), undefined],
    [
      "an unprotected database",
      buildResource("docker:index/volume:Volume", { name: "gh-postgres-data" }),
      /not protected/,
    ],
    ["a database's files", buildResource("docker:index/volume:Volume", { name: "gh-postgres-files" }), undefined],
    ["an unprotected claim", buildResource(claim, { metadata: { name: "facilitator-ledger" } }), /not protected/],
    ["a name of the wrong type", buildResource(claim, { metadata: 3 }), undefined],
    [
      "an emptyDir",
      buildStatefulSet(
        { volumeMounts: [{ name: "d", mountPath: "/data" }] },
        { volumes: [{ name: "d", emptyDir: {} }] },
      ),
      /is deleted with the pod/,
    ],
    [
      "claims with a Delete retention policy",
      buildStatefulSet(
        {},
        {},
        { spec: { volumeClaimTemplates: [{}], persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } } },
      ),
      /deletes its claims/,
    ],
  ],
  "node-grace": [
    ["a node with 300 s to stop", buildDockerContainer({}, "node"), undefined],
    ["a node with 10 s to stop", buildDockerContainer({ stopTimeout: 10 }, "node"), /has 10 s to stop/],
    ["a stop timeout of the wrong type", buildDockerContainer({ stopTimeout: "300" }, "node"), /the default time/],
    ["another service with 10 s to stop", buildDockerContainer({ stopTimeout: 10 }), undefined],
    ["a node pod with 30 s to stop", buildStatefulSet({}, { terminationGracePeriodSeconds: 30 }), /has 30 s/],
  ],
  "no-plain-secrets": [
    [
      "a secret in a file",
      buildDockerContainer({ envs: ["GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE=/run/x"] }),
      undefined,
    ],
    ["a private key", buildDockerContainer({ envs: ["SIGNER_PRIVATE_KEY=0x1"] }), /variable SIGNER_PRIVATE_KEY$/],
    [
      "a private key under another name",
      buildDockerContainer({ envs: [`SEED=0x${"1f".repeat(32)}`] }),
      /variable SEED/,
    ],
    ["a URL with a password", env("LEDGER", "postgres://u:p@db/x"), /variable LEDGER/],
    [
      "a list with a URL that has a password",
      env("REFERENCES", "https://a.example,https://u:p@b.example"),
      /variable REFERENCES/,
    ],
    ["a URL with a token as its user", env("RPC_URL", "https://s3cr3t@rpc.example/"), /variable RPC_URL/],
    ["a URL with a key in its query", env("RPC_URL", "https://rpc.example/?apikey=s3cr3t"), /variable RPC_URL/],
    [
      "a URL with a key in its path",
      env("RPC_URL", "https://rpc.example/v3/0123456789abcdef0123456789abcdef"),
      /RPC_URL/,
    ],
    [
      "a URL with a key between path segments",
      env("RPC_URL", "wss://rpc.example/v2/aB3-xK9_pQ2mZ7rT4wY/ws"),
      /variable RPC_URL/,
    ],
    ["a URL with an address in its path", env("INFO", `https://scan.example/token/0x${"a1".repeat(20)}`), undefined],
    ["a URL with a dated file", env("INFO", "https://a.example/pharos-mainnet-2026-11-30-full"), undefined],
    ["an AWS access key id", env("SEED", "AKIAIOSFODNN7EXAMPLE"), /variable SEED/],
    [
      "a URL with a UUID in its path",
      env("RPC_URL", "wss://a.example/11111111-2222-3333-4444-555555555555"),
      /RPC_URL/,
    ],
    ["a URL with a token value in its query", env("RPC_URL", "https://a.example/?token_value=x"), /RPC_URL/],
    ["the working directory's variable", env("PWD", "/srv"), undefined],
    ["a URL with a user and no password", env("LEDGER", "postgres://gatehouse@db/x"), undefined],
    ["a checksum", env("GATEHOUSE_RESTORE_ARCHIVE_SHA256", "1f".repeat(32)), undefined],
    [
      "a Secret reference",
      buildStatefulSet({ env: [{ name: "API_KEY", valueFrom: { secretKeyRef: {} } }] }),
      undefined,
    ],
    ["variables of the wrong type", buildDockerContainer({ envs: { API_KEY: "x" } }), undefined],
  ],
  "public-tls": [
    [
      "an Ingress with TLS for every host",
      ingress({ tls: [{ hosts: ["a.example"], secretName: "t" }], rules: [{ host: "a.example" }] }),
      undefined,
    ],
    ["an Ingress without TLS", ingress({ rules: [{ host: "a.example" }] }), /serves a\.example without TLS/],
    ["a certificate from AWS", cloudIngress({ "alb.ingress.kubernetes.io/certificate-arn": "arn:x" }), undefined],
    [
      "a certificate from Google with plain HTTP allowed",
      cloudIngress({ "networking.gke.io/managed-certificates": "x" }),
      /serves a\.example without TLS/,
    ],
    [
      "a certificate from Google",
      cloudIngress({ "networking.gke.io/managed-certificates": "x", "kubernetes.io/ingress.allow-http": "false" }),
      undefined,
    ],
    ["Ingress rules of the wrong type", ingress({ rules: "a.example" }), /no rule with a host/],
    [
      "an Ingress to the facilitator",
      ingress({
        tls: [{ hosts: ["a.example"], secretName: "t" }],
        rules: [{ host: "a.example", http: { paths: [{ backend: { service: { name: "gh-facilitator" } } }] } }],
      }),
      /makes the facilitator public/,
    ],
    [
      "a facilitator published on the host",
      buildDockerContainer({ ports: [{ internal: 3_000 }] }),
      /publishes the facilitator/,
    ],
    ["a route with a listener", route({ sectionName: "https" }, "gateway"), undefined],
    ["a route without a listener", route({}, "gateway"), /specifies no listener of the Gateway public/],
    ["a route to the facilitator", route({ sectionName: "https" }, "facilitator"), /makes the facilitator public/],
    [
      "an HTTP listener",
      buildResource("kubernetes:gateway.networking.k8s.io/v1:Gateway", {
        spec: { listeners: [{ name: "web", protocol: "HTTP" }] },
      }),
      /listener web without TLS/,
    ],
  ],
};

describe.each(Object.entries(cases))("%s", (name, rows) => {
  const rule = allRules.find((candidate) => candidate.name === name);

  const named = rows.map((row) => [row[2] === undefined ? "accepts" : "reports", ...row] as const);
  it.each(named)("%s %s", (_, __, subject, finding) => {
    if (rule?.scope !== "resource") throw new Error(`${name} is not a resource rule`);
    const findings = rule.check(subject, { allowedRegistries: ["registry.example"] });
    if (finding === undefined) expect(findings).toEqual([]);
    else expect(findings.join("\n")).toMatch(finding);
  });

  it("ignores other resource types", () => {
    if (rule?.scope !== "resource") throw new Error(`${name} is not a resource rule`);
    const other = buildResource("aws:s3/bucket:Bucket", buildKubernetesContainer());
    expect(rule.check(other, { allowedRegistries: [] })).toEqual([]);
  });
});
