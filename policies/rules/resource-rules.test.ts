import { describe, expect, it } from "vitest";
import type { PolicyResource } from "../rule.ts";
import { dockerContainer, kubernetesContainer, resource, statefulSet } from "../testing/sample-resources.ts";
import { allRules } from "./all-rules.ts";

type Case = readonly [what: string, resource: PolicyResource, finding: RegExp | undefined];

const socket = { hostPath: "/var/run/docker.sock", containerPath: "/run/docker.sock" };
const claim = "kubernetes:core/v1:PersistentVolumeClaim";
const service = (spec: Record<string, unknown>) => resource("kubernetes:core/v1:Service", { spec });
const ingress = (spec: Record<string, unknown>) => resource("kubernetes:networking.k8s.io/v1:Ingress", { spec });
const route = (parent: Record<string, unknown>, backend: string) =>
  resource("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", {
    spec: { parentRefs: [{ name: "public", ...parent }], rules: [{ backendRefs: [{ name: backend, port: 1 }] }] },
  });
const backend = (name: string, number: number) => ({
  http: { paths: [{ path: "/", backend: { service: { name, port: { number } } } }] },
});
const env = (name: string, value: string) => statefulSet({ env: [{ name, value }] });

/** For each rule what passes (no finding), what fails, and what has the wrong type. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  "image-pinned": [
    ["a Docker image by id", dockerContainer(), undefined],
    [
      "a Docker image by tag",
      dockerContainer({ image: "gatehouse:latest" }),
      /gatehouse:latest, which names no digest/,
    ],
    ["an image that is no text", dockerContainer({ image: 7 }), /names no image/],
    ["an image from an allowed registry", statefulSet(), undefined],
    [
      "an image from elsewhere",
      statefulSet({ image: `evil.example/x@sha256:${"b".repeat(64)}` }),
      /allowed registries are/,
    ],
    [
      "an init container by tag",
      statefulSet({}, { initContainers: [{ name: "seed", image: "x:1" }] }),
      /container seed: /,
    ],
  ],
  "no-host-access": [
    ["a plain container", dockerContainer(), undefined],
    ["a privileged container", dockerContainer({ privileged: true }), /is privileged/],
    ["privileged as text", dockerContainer({ privileged: "true" }), /is privileged/],
    ["the host's network", dockerContainer({ networkMode: "host" }), /host's network namespace/],
    ["the host's processes", statefulSet({}, { hostPID: true }), /host's pid namespace/],
    ["a privileged pod", statefulSet({ securityContext: { privileged: true } }), /is privileged/],
    [
      "/etc of the host",
      dockerContainer({ volumes: [{ hostPath: "/etc/ssl", containerPath: "/x" }] }),
      /mounts \/etc\/ssl/,
    ],
    [
      "a data disk of the host",
      dockerContainer({ volumes: [{ hostPath: "/mnt/chain", containerPath: "/data" }] }),
      undefined,
    ],
  ],
  "engine-socket": [
    ["the engine proxy", dockerContainer({ volumes: [socket] }, "engine-proxy"), undefined],
    ["the sidecar", dockerContainer({ volumes: [socket] }, "sidecar"), /is not the engine proxy/],
    ["volumes that are no list", dockerContainer({ volumes: "x" }), undefined],
    [
      "a pod",
      statefulSet(
        { volumeMounts: [{ name: "s", mountPath: "/s" }] },
        { volumes: [{ name: "s", hostPath: { path: "/run/containerd/containerd.sock" } }] },
      ),
      /mounts the engine's socket/,
    ],
  ],
  "non-root": [
    ["a numbered user", dockerContainer(), undefined],
    ["root", dockerContainer({ user: "0:0" }), /runs as 0:0/],
    ["nobody named", dockerContainer({ user: undefined }), /names no user/],
    ["a user of the wrong type", dockerContainer({ user: 0 }), /names no user/],
    ["a pod that is non-root", statefulSet(), undefined],
    ["a pod as root", statefulSet({ securityContext: { runAsUser: 0 } }), /runs as 0/],
  ],
  confined: [
    ["a confined container", dockerContainer(), undefined],
    ["kept capabilities", dockerContainer({ capabilities: {} }), /does not drop ALL/],
    [
      "an added capability",
      dockerContainer({ capabilities: { drops: ["ALL"], adds: ["CAP_SYS_ADMIN"] } }),
      /CAP_SYS_ADMIN/,
    ],
    [
      "security options of the wrong type",
      dockerContainer({ securityOpts: "no-new-privileges" }),
      /allows new privileges/,
    ],
    ["a confined pod", statefulSet(), undefined],
    ["a pod without seccomp", statefulSet({}, { securityContext: { runAsUser: 1 } }), /no seccomp profile/],
  ],
  "read-only-root": [
    ["a read-only container", dockerContainer(), undefined],
    ["a writable container", dockerContainer({ readOnly: false }), /writable root/],
    ["the wrong type", dockerContainer({ readOnly: "yes" }), /writable root/],
    [
      "a one-shot container",
      dockerContainer({ readOnly: false, mustRun: false, attach: true, restart: "no" }),
      undefined,
    ],
    ["a writable pod", statefulSet({ securityContext: {} }), /writable root/],
  ],
  "resource-limits": [
    ["limits", dockerContainer(), undefined],
    ["no memory limit", dockerContainer({ memory: 0 }), /no memory limit/],
    ["limits of the wrong type", dockerContainer({ cpus: 1, memory: "1G" }), /no CPU limit/],
    ["a pod with limits", statefulSet(), undefined],
    ["a pod without", statefulSet({ resources: {} }), /no CPU limit/],
  ],
  probes: [
    ["a health check", dockerContainer(), undefined],
    ["none", dockerContainer({ healthcheck: undefined }), /no health check/],
    ["the wrong type", dockerContainer({ healthcheck: "curl" }), /no health check/],
    ["one that is never started", dockerContainer({ healthcheck: undefined, start: false }), undefined],
    ["a pod with probes", statefulSet(), undefined],
    ["a pod without a liveness probe", statefulSet({ livenessProbe: undefined }), /no liveness probe/],
    ["an init container", statefulSet({}, { initContainers: [{ name: "once" }] }), undefined],
  ],
  "private-ports": [
    ["the gateway", dockerContainer({ ports: [{ internal: 8_545, external: 8_545, ip: "0.0.0.0" }] }), undefined],
    [
      "the node's RPC",
      dockerContainer({ ports: [{ internal: 18_100, external: 80 }] }),
      /the node's JSON-RPC over HTTP/,
    ],
    ["the status on loopback", dockerContainer({ ports: [{ internal: 9_600, ip: "127.0.0.1" }] }), undefined],
    ["the status for all", dockerContainer({ ports: [{ internal: 9_600, ip: "0.0.0.0" }] }), /sidecar's status/],
    ["all ports", dockerContainer({ publishAllPorts: true }), /publishes all/],
    ["ports of the wrong type", dockerContainer({ ports: "8545" }), undefined],
    ["an inner Service", service({ ports: [{ port: 9_091 }] }), undefined],
    [
      "the sales' metrics for all",
      dockerContainer({ ports: [{ internal: 9_601, ip: "0.0.0.0" }] }),
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
      resource("kubernetes:gateway.networking.k8s.io/v1:HTTPRoute", {
        spec: { rules: [{ backendRefs: [{ name: "resource-server", port: 9_601 }] }] },
      }),
      /makes the resource server's health and metrics public/,
    ],
    ["a public Pushgateway", service({ type: "LoadBalancer", ports: [{ port: 9_091 }] }), /the Pushgateway/],
  ],
  "chain-data": [
    [
      "a protected volume",
      resource("docker:index/volume:Volume", { name: "gh-node-workspace" }, { protect: true }),
      undefined,
    ],
    ["an unprotected volume", resource("docker:index/volume:Volume", { name: "gh-node-workspace" }), /not protected/],
    ["a volume of files", resource("docker:index/volume:Volume", { name: "gh-node-files" }), undefined],
    ["an unprotected database", resource("docker:index/volume:Volume", { name: "gh-postgres-data" }), /not protected/],
    ["a database's files", resource("docker:index/volume:Volume", { name: "gh-postgres-files" }), undefined],
    ["an unprotected claim", resource(claim, { metadata: { name: "facilitator-ledger" } }), /not protected/],
    ["a name of the wrong type", resource(claim, { metadata: 3 }), undefined],
    [
      "an emptyDir",
      statefulSet({ volumeMounts: [{ name: "d", mountPath: "/data" }] }, { volumes: [{ name: "d", emptyDir: {} }] }),
      /goes with the pod/,
    ],
    [
      "claims that are deleted",
      statefulSet(
        {},
        {},
        { spec: { volumeClaimTemplates: [{}], persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } } },
      ),
      /deletes its claims/,
    ],
  ],
  "node-grace": [
    ["300 s", dockerContainer({}, "node"), undefined],
    ["10 s", dockerContainer({ stopTimeout: 10 }, "node"), /has 10 s to stop/],
    ["the wrong type", dockerContainer({ stopTimeout: "300" }, "node"), /the default time/],
    ["another service", dockerContainer({ stopTimeout: 10 }), undefined],
    ["a pod with 30 s", statefulSet({}, { terminationGracePeriodSeconds: 30 }), /has 30 s/],
  ],
  "no-plain-secrets": [
    ["a file", dockerContainer({ envs: ["GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE=/run/x"] }), undefined],
    ["a key", dockerContainer({ envs: ["SIGNER_PRIVATE_KEY=0x1"] }), /variable SIGNER_PRIVATE_KEY$/],
    ["a key under another name", dockerContainer({ envs: [`SEED=0x${"1f".repeat(32)}`] }), /variable SEED/],
    ["a URL with a password", env("LEDGER", "postgres://u:p@db/x"), /variable LEDGER/],
    ["the token's address", env("GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS", `0x${"ab".repeat(20)}`), undefined],
    ["a checksum", env("GATEHOUSE_RESTORE_ARCHIVE_SHA256", "1f".repeat(32)), undefined],
    ["a reference", statefulSet({ env: [{ name: "API_KEY", valueFrom: { secretKeyRef: {} } }] }), undefined],
    ["variables of the wrong type", dockerContainer({ envs: { API_KEY: "x" } }), undefined],
  ],
  "public-tls": [
    [
      "TLS for every host",
      ingress({ tls: [{ hosts: ["a.example"], secretName: "t" }], rules: [{ host: "a.example" }] }),
      undefined,
    ],
    ["no TLS", ingress({ rules: [{ host: "a.example" }] }), /serves a\.example without TLS/],
    ["rules of the wrong type", ingress({ rules: "a.example" }), /no rule with a host/],
    [
      "the facilitator",
      ingress({
        tls: [{ hosts: ["a.example"], secretName: "t" }],
        rules: [{ host: "a.example", http: { paths: [{ backend: { service: { name: "gh-facilitator" } } }] } }],
      }),
      /makes the facilitator public/,
    ],
    ["a facilitator on the host", dockerContainer({ ports: [{ internal: 3_000 }] }), /publishes the facilitator/],
    ["a route of one listener", route({ sectionName: "https" }, "gateway"), undefined],
    ["a route of every listener", route({}, "gateway"), /names no listener of the Gateway public/],
    ["a route to the facilitator", route({ sectionName: "https" }, "facilitator"), /makes the facilitator public/],
    [
      "an HTTP listener",
      resource("kubernetes:gateway.networking.k8s.io/v1:Gateway", {
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
    const other = resource("aws:s3/bucket:Bucket", kubernetesContainer());
    expect(rule.check(other, { allowedRegistries: [] })).toEqual([]);
  });
});
