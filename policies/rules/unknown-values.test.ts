import * as proxies from "@pulumi/policy/proxy.js";
import { unknownValue } from "@pulumi/pulumi/runtime/rpc.js";
import { describe, expect, it } from "vitest";
import type { PolicyResource, Rule } from "../rule.ts";
import { buildDockerContainer, buildResource, buildStatefulSet } from "../testing/sample-resources.ts";
import { findWorkload } from "../workload-of.ts";
import { allRules } from "./all-rules.ts";

/** The policy SDK's own wrapper of properties at preview; its type declarations omit it. */
const { unknownCheckingProxy } = proxies as unknown as {
  unknownCheckingProxy: (props: PolicyResource["props"]) => PolicyResource["props"];
};

const atPreview = (given: PolicyResource): PolicyResource => ({ ...given, props: unknownCheckingProxy(given.props) });
const socket = { hostPath: "/run/docker.sock", containerPath: "/s" };
const ingress = (spec: Record<string, unknown>) => buildResource("kubernetes:networking.k8s.io/v1:Ingress", { spec });
const volume = (props: Record<string, unknown>) => buildResource("docker:index/volume:Volume", props);
const pulled = (name: string) =>
  buildResource("docker:index/remoteImage:RemoteImage", { name, keepLocally: true, imageId: unknownValue });
const sidecar = (...envs: string[]) => buildDockerContainer({ envs, image: unknownValue }, "sidecar");

/** For each rule: a resource whose deciding value is unknown, and one that breaks the rule while another value is unknown. */
const cases: Readonly<Record<string, Readonly<{ undecided: PolicyResource; broken: PolicyResource }>>> = {
  "image-pinned": {
    undecided: buildStatefulSet({ image: unknownValue }),
    broken: buildDockerContainer({ image: "x:1", user: unknownValue }),
  },
  "no-host-access": {
    undecided: buildDockerContainer({ privileged: unknownValue }),
    broken: buildDockerContainer({ privileged: true, image: unknownValue }),
  },
  "engine-socket": {
    undecided: buildDockerContainer({ volumes: unknownValue }),
    broken: buildDockerContainer({ volumes: [socket], image: unknownValue }),
  },
  "non-root": {
    undecided: buildDockerContainer({ user: unknownValue }),
    broken: buildDockerContainer({ user: "0", image: unknownValue }),
  },
  confined: {
    undecided: buildDockerContainer({ capabilities: { drops: unknownValue } }),
    broken: buildDockerContainer({ capabilities: {}, image: unknownValue }),
  },
  "read-only-root": {
    undecided: buildDockerContainer({ readOnly: unknownValue }),
    broken: buildDockerContainer({ readOnly: false, image: unknownValue }),
  },
  "resource-limits": {
    undecided: buildStatefulSet({ resources: { limits: { cpu: unknownValue, memory: "1Gi" } } }),
    broken: buildStatefulSet({ resources: {}, image: unknownValue }),
  },
  probes: {
    undecided: buildDockerContainer({ healthcheck: unknownValue }),
    broken: buildDockerContainer({ healthcheck: undefined, image: unknownValue }),
  },
  "private-ports": {
    undecided: buildDockerContainer({ ports: [{ internal: 9_600, ip: unknownValue }] }),
    broken: buildDockerContainer({ ports: [{ internal: 9_600, ip: "0.0.0.0" }], image: unknownValue }),
  },
  "default-deny": {
    undecided: buildDockerContainer({ networksAdvanced: unknownValue }),
    broken: buildDockerContainer({ networksAdvanced: [], image: unknownValue }),
  },
  "chain-data": {
    undecided: volume({ name: unknownValue }),
    broken: volume({ name: "gh-node-workspace", driver: unknownValue }),
  },
  "node-grace": {
    undecided: buildDockerContainer({ stopTimeout: unknownValue }, "node"),
    broken: buildDockerContainer({ stopTimeout: 10, image: unknownValue }, "node"),
  },
  "no-plain-secrets": {
    undecided: buildDockerContainer({ envs: unknownValue }),
    broken: buildDockerContainer({ envs: ["API_KEY=x"], image: unknownValue }),
  },
  "public-tls": {
    undecided: ingress({ rules: unknownValue }),
    broken: ingress({ rules: [{ host: "a.example" }], ingressClassName: unknownValue }),
  },
  "node-configuration": {
    undecided: buildDockerContainer({ envs: [unknownValue] }, "sidecar"),
    broken: sidecar("GATEHOUSE_SIDECAR_PRUNE_ENABLED=false"),
  },
};

function findings(rule: Rule, subject: PolicyResource): number {
  return rule.scope === "stack" ? rule.check([subject]).length : rule.check(subject, { allowedRegistries: [] }).length;
}

describe.each(allRules.map((rule) => [rule.name, rule] as const))("%s, at preview", (name, rule) => {
  it("throws while its deciding value is unknown, so Pulumi reports it as advisory", () => {
    const { undecided } = cases[name]!;
    expect(() => findings(rule, atPreview(undecided))).toThrow(/can't be known during preview/);
  });

  it("reports a violation even if other values are unknown", () => {
    const { broken } = cases[name]!;
    expect(findings(rule, atPreview(broken))).toBeGreaterThan(0);
  });
});

describe("image-pinned for a Docker image at preview", () => {
  const rule = allRules.find(({ name }) => name === "image-pinned")!;
  it("checks the pulled image, not the container's unknown image ID", () => {
    expect(findings(rule, atPreview(buildDockerContainer({ image: unknownValue })))).toBe(0);
    expect(findings(rule, atPreview(pulled("registry.example/node:0.16.2")))).toBe(1);
    expect(findings(rule, atPreview(pulled(`registry.example/node@sha256:${"a".repeat(64)}`)))).toBe(0);
  });
});

describe("a preview of a changed secret", () => {
  const delivery = buildDockerContainer({ envs: unknownValue, restart: "no", mustRun: false, attach: true });
  const service = buildDockerContainer({}, "facilitator");
  const labels = [...(service.props["labels"] as unknown[]), { label: "io.gatehouse.files", value: unknownValue }];
  const replaced = { ...service, props: { ...service.props, labels } };

  it("still checks node-configuration", () => {
    const stack = [delivery, replaced, sidecar("GATEHOUSE_SIDECAR_PRUNE_ENABLED=false")].map(atPreview);
    const rule = allRules.find(({ name }) => name === "node-configuration");
    expect(rule?.scope === "stack" ? rule.check(stack) : []).toHaveLength(1);
  });

  it("finds the service despite an unknown label", () => {
    expect(findWorkload(atPreview(replaced))?.service()).toBe("facilitator");
  });
});
