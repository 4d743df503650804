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
    [
      "an image that is pulled by tag",
      remoteImage("registry.example/x:1"),
      /pulls registry.example\/x:1, which has no digest/,
    ],
    ["an image that is pulled by digest", remoteImage(`registry.example/x@sha256:${"b".repeat(64)}`), undefined],
    [
      "an image that is pulled from elsewhere",
      remoteImage(`evil.example/x@sha256:${"b".repeat(64)}`),
      /pulls evil.*allowed/,
    ],
    ["an image that is not text", buildDockerContainer({ image: 7 }), /has no valid image/],
    ["an image from an allowed registry", buildStatefulSet(), undefined],
    [
      "an image from elsewhere",
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
    ["the host's network", buildDockerContainer({ networkMode: "host" }), /host's network namespace/],
    ["the host's processes", buildStatefulSet({}, { hostPID: true }), /host's pid namespace/],
    ["a privileged pod", buildStatefulSet({ securityContext: { privileged: true } }), /is privileged/],
    [
      "/etc of the host",
      buildDockerContainer({ volumes: [{ hostPath: "/etc/ssl", containerPath: "/x" }] }),
      /mounts \/etc\/ssl/,
    ],
    [
      "a data disk of the host",
      buildDockerContainer({ volumes: [{ hostPath: "/mnt/chain", containerPath: "/data" }] }),
      undefined,
    ],
  ],
  "engine-socket": [
    ["the engine proxy", buildDockerContainer({ volumes: [socket] }, "engine-proxy"), undefined],
    ["the sidecar", buildDockerContainer({ volumes: [socket] }, "sidecar"), /is not the engine proxy/],
    ["volumes that are no list", buildDockerContainer({ volumes: "x" }), undefined],
    [
      "a pod",
      buildStatefulSet(
        { volumeMounts: [{ name: "s", mountPath: "/s" }] },
        { volumes: [{ name: "s", hostPath: { path: "/run/containerd/containerd.sock" } }] },
      ),
      /mounts the engine's socket/,
    ],
  ],
  "non-root": [
    ["a numbered user", buildDockerContainer(), undefined],
    ["root", buildDockerContainer({ user: "0:0" }), /runs as 0:0/],
    ["nobody named", buildDockerContainer({ user: undefined }), /has no user/],
    ["a user of the wrong type", buildDockerContainer({ user: 0 }), /has no user/],
    ["a pod that is non-root", buildStatefulSet(), undefined],
    ["a pod as root", buildStatefulSet({ securityContext: { runAsUser: 0 } }), /runs as 0/],
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
    ["the wrong type", buildDockerContainer({ readOnly: "yes" }), /writable root/],
    [
      "a one-shot container",
      buildDockerContainer({ readOnly: false, mustRun: false, attach: true, restart: "no" }),
      undefined,
    ],
    ["a writable pod", buildStatefulSet({ securityContext: {} }), /writable root/],
  ],
  "resource-limits": [
    ["limits", buildDockerContainer(), undefined],
    ["no memory limit", buildDockerContainer({ memory: 0 }), /no memory limit/],
    ["limits of the wrong type", buildDockerContainer({ cpus: 1, memory: "1G" }), /no CPU limit/],
    ["a pod with limits", buildStatefulSet(), undefined],
    ["a pod without", buildStatefulSet({ resources: {} }), /no CPU limit/],
  ],
  probes: [
    ["a health check", buildDockerContainer(), undefined],
    ["none", buildDockerContainer({ healthcheck: undefined }), /no health check/],
    ["the wrong type", buildDockerContainer({ healthcheck: "curl" }), /no health check/],
    ["one that is never started", buildDockerContainer({ healthcheck: undefined, start: false }), undefined],
    ["a pod with probes", buildStatefulSet(), undefined],
    ["a pod without a liveness probe", buildStatefulSet({ livenessProbe: undefined }), /no liveness probe/],
    ["an init container", buildStatefulSet({}, { initContainers: [{ name: "once" }] }), undefined],
  ],
  "private-ports": [
    ["the gateway", buildDockerContainer({ ports: [{ internal: 8_545, external: 8_545, ip: "0.0.0.0" }] }), undefined],
    [
      "the node's RPC",
      buildDockerContainer({ ports: [{ internal: 18_100, external: 80 }] }),
      /the node's JSON-RPC over HTTP/,
    ],
    ["the status on loopback", buildDockerContainer({ ports: [{ internal: 9_600, ip: "127.0.0.1" }] }), undefined],
    ["the status for all", buildDockerContainer({ ports: [{ internal: 9_600, ip: "0.0.0.0" }] }), /sidecar's status/],
    ["a database for all", buildDockerContainer({ ports: [{ internal: 5_432, ip: "0.0.0.0" }] }), /PostgreSQL/],
    ["Prometheus for all", buildDockerContainer({ ports: [{ internal: 9_090, ip: "0.0.0.0" }] }), /Prometheus/],
    ["Alertmanager for all", buildDockerContainer({ ports: [{ internal: 9_093, ip: "0.0.0.0" }] }), /Alertmanager/],
    ["Grafana for all", buildDockerContainer({ ports: [{ internal: 3_000, ip: "0.0.0.0" }] }), /Grafana/],
    [
      "the settlements' metrics",
      buildDockerContainer({ ports: [{ internal: 9_602 }] }),
      /facilitator's health and metrics/,
    ],
    ["all ports", buildDockerContainer({ publishAllPorts: true }), /publishes all/],
    ["ports of the wrong type", buildDockerContainer({ ports: "8545" }), undefined],
    ["an inner Service", service({ ports: [{ port: 9_091 }] }), undefined],
    [
      "the sales' metrics for all",
      buildDockerContainer({ ports: [{ internal: 9_601, ip: "0.0.0.0" }] }),
      /resource server's health and metrics/,
    ],
    ["an Ingress to the gateway for token holders", ingress({ rules: [backend("gateway", 8_547)] }), undefined],
    ["an Ingress to what is sold", ingress({ rules: [backend("resource-server", 4_021)] }), undefined],
    [
      "an Ingress to the sales' metrics",
      ingress({ rules: [backend("resource-server", 9_601)] }),
      /makes the resource server's health and metrics public/,
    ],
    [
      "an Ingress that hands the rest to the sidecar's status",
      ingress({ defaultBackend: { service: { name: "sidecar-status", port: { number: 9_600 } } } }),
      /makes the sidecar's status public/,
    ],
    [
      "a route to the sales' metrics",
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
      "claims that are deleted",
      buildStatefulSet(
        {},
        {},
        { spec: { volumeClaimTemplates: [{}], persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } } },
      ),
      /deletes its claims/,
    ],
  ],
  "node-grace": [
    ["300 s", buildDockerContainer({}, "node"), undefined],
    ["10 s", buildDockerContainer({ stopTimeout: 10 }, "node"), /has 10 s to stop/],
    ["the wrong type", buildDockerContainer({ stopTimeout: "300" }, "node"), /the default time/],
    ["another service", buildDockerContainer({ stopTimeout: 10 }), undefined],
    ["a pod with 30 s", buildStatefulSet({}, { terminationGracePeriodSeconds: 30 }), /has 30 s/],
  ],
  "no-plain-secrets": [
    ["a file", buildDockerContainer({ envs: ["GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE=/run/x"] }), undefined],
    ["a key", buildDockerContainer({ envs: ["SIGNER_PRIVATE_KEY=0x1"] }), /variable SIGNER_PRIVATE_KEY$/],
    ["a key under another name", buildDockerContainer({ envs: [`SEED=0x${"1f".repeat(32)}`] }), /variable SEED/],
    ["a URL with a password", env("LEDGER", "postgres://u:p@db/x"), /variable LEDGER/],
    ["a list with such a URL", env("REFERENCES", "https://a.example,https://u:p@b.example"), /variable REFERENCES/],
    ["a URL with a token for a user", env("RPC_URL", "https://s3cr3t@rpc.example/"), /variable RPC_URL/],
    ["a URL with a key in its query", env("RPC_URL", "https://rpc.example/?apikey=s3cr3t"), /variable RPC_URL/],
    [
      "a URL with a key in its path",
      env("RPC_URL", "https://rpc.example/v3/0123456789abcdef0123456789abcdef"),
      /RPC_URL/,
    ],
    ["a URL with a key among words", env("RPC_URL", "wss://rpc.example/v2/aB3-xK9_pQ2mZ7rT4wY/ws"), /variable RPC_URL/],
    ["a URL with an address in its path", env("INFO", `https://scan.example/token/0x${"a1".repeat(20)}`), undefined],
    ["a URL with a dated file", env("INFO", "https://a.example/pharos-mainnet-2026-11-30-full"), undefined],
    ["a passphrase", env("PULUMI_CONFIG_PASSPHRASE", "x"), /variable PULUMI_CONFIG_PASSPHRASE/],
    ["a password, in short", env("LEDGER_PWD", "x"), /variable LEDGER_PWD/],
    ["the working directory", env("PWD", "/srv"), undefined],
    ["a URL with a user and no password", env("LEDGER", "postgres://gatehouse@db/x"), undefined],
    ["the token's address", env("GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS", `0x${"ab".repeat(20)}`), undefined],
    ["a checksum", env("GATEHOUSE_RESTORE_ARCHIVE_SHA256", "1f".repeat(32)), undefined],
    ["a reference", buildStatefulSet({ env: [{ name: "API_KEY", valueFrom: { secretKeyRef: {} } }] }), undefined],
    ["variables of the wrong type", buildDockerContainer({ envs: { API_KEY: "x" } }), undefined],
  ],
  "public-tls": [
    [
      "TLS for every host",
      ingress({ tls: [{ hosts: ["a.example"], secretName: "t" }], rules: [{ host: "a.example" }] }),
      undefined,
    ],
    ["no TLS", ingress({ rules: [{ host: "a.example" }] }), /serves a\.example without TLS/],
    ["a certificate of AWS", cloudIngress({ "alb.ingress.kubernetes.io/certificate-arn": "arn:x" }), undefined],
    [
      "a certificate of Google, and plain HTTP",
      cloudIngress({ "networking.gke.io/managed-certificates": "x" }),
      /serves a\.example without TLS/,
    ],
    [
      "a certificate of Google",
      cloudIngress({ "networking.gke.io/managed-certificates": "x", "kubernetes.io/ingress.allow-http": "false" }),
      undefined,
    ],
    ["rules of the wrong type", ingress({ rules: "a.example" }), /no rule with a host/],
    [
      "the facilitator",
      ingress({
        tls: [{ hosts: ["a.example"], secretName: "t" }],
        rules: [{ host: "a.example", http: { paths: [{ backend: { service: { name: "gh-facilitator" } } }] } }],
      }),
      /makes the facilitator public/,
    ],
    ["a facilitator on the host", buildDockerContainer({ ports: [{ internal: 3_000 }] }), /publishes the facilitator/],
    ["a route of one listener", route({ sectionName: "https" }, "gateway"), undefined],
    ["a route of every listener", route({}, "gateway"), /specifies no listener of the Gateway public/],
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

  it.each(rows)("%s", (_, subject, finding) => {
    if (rule?.scope !== "resource") throw new Error(`${name} is no resource rule`);
    const findings = rule.check(subject, { allowedRegistries: ["registry.example"] });
    if (finding === undefined) expect(findings).toEqual([]);
    else expect(findings.join("\n")).toMatch(finding);
  });

  it("has nothing to say of other resources", () => {
    if (rule?.scope !== "resource") throw new Error(`${name} is no resource rule`);
    const other = buildResource("aws:s3/bucket:Bucket", buildKubernetesContainer());
    expect(rule.check(other, { allowedRegistries: [] })).toEqual([]);
  });
});
