import { describe, expect, it } from "vitest";
import { denyAll, buildDockerContainer, buildResource, buildStatefulSet } from "../testing/sample-resources.ts";
import { defaultDeny } from "./default-deny.ts";
import { nodeConfiguration } from "./node-configuration.ts";

const sidecar = (...envs: string[]) =>
  buildDockerContainer({ envs: ["GATEHOUSE_SIDECAR_NODE_VERSION=0.16.2", ...envs] }, "sidecar");

const configMap = (text: unknown) =>
  buildResource("kubernetes:core/v1:ConfigMap", { data: { "node.conf": text } }, { name: "node-conf" });

const init = {
  meta_path: "m",
  host_ip: "127.0.0.1",
  http_port: "18100",
  rpc_port: "20000",
  tcp_port: "19000",
  ws_port: "18200",
};
const chain = {
  secret_config: { domain_key_path: "d", stabilizing_key_path: "s" },
  startup_config: { init_config: init },
};

/** A complete node.conf with these metrics keys, as a deployment renders it. */
function conf(monitor: Record<string, unknown> | undefined, ports: Record<string, string> = {}): string {
  const changed = { ...chain, startup_config: { init_config: { ...init, ...ports } }, monitor_config: monitor };
  return JSON.stringify(
    { chain: changed, storage: { mygrid_conf: {}, mygrid_env: { storage_data_path: "d" } } },
    undefined,
    2,
  );
}

const storage = {
  storage_enable_cetina: true,
  storage_cetina_job_name: "node",
  storage_cetina_push_address: "pushgateway",
  storage_cetina_push_interval: 10,
  storage_cetina_push_port: 9_091,
};

/** A policy that denies all connections of one service's pods. */
const denyService = (component: string) =>
  buildResource("kubernetes:networking.k8s.io/v1:NetworkPolicy", {
    metadata: { namespace: "gatehouse" },
    spec: {
      podSelector: { matchLabels: { "app.kubernetes.io/component": component } },
      policyTypes: ["Ingress", "Egress"],
    },
  });

describe("default-deny", () => {
  it("accepts a namespace with a default-deny policy, and containers on custom networks or none", () => {
    const own = buildDockerContainer();
    const none = buildDockerContainer({ networksAdvanced: [], networkMode: "none" });
    expect(defaultDeny.check([denyAll(), buildStatefulSet(), own, none])).toEqual([]);
  });

  it("reports a workload in a namespace without a default-deny policy", () => {
    expect(defaultDeny.check([denyAll("elsewhere"), buildStatefulSet()])).toEqual([
      { resource: "gh-node", message: "runs in the namespace gatehouse, which has no default-deny NetworkPolicy" },
    ]);
  });

  it("accepts a policy that selects the stack's pods, but not another service's", () => {
    expect(defaultDeny.check([denyService("node"), buildStatefulSet()])).toEqual([]);
    expect(defaultDeny.check([denyService("facilitator"), buildStatefulSet()])).toHaveLength(1);
  });

  it("ignores a policy with an allow rule", () => {
    const open = buildResource("kubernetes:networking.k8s.io/v1:NetworkPolicy", {
      metadata: { namespace: "gatehouse" },
      spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"], ingress: [{}] },
    });
    expect(defaultDeny.check([open, buildStatefulSet()])).toHaveLength(1);
  });

  it("reports a container on the engine's default network", () => {
    expect(defaultDeny.check([buildDockerContainer({ networksAdvanced: [] })])[0]?.message).toContain(
      "default network",
    );
  });
});

describe("node-configuration", () => {
  it("accepts a sidecar with pruning and metrics enabled", () => {
    expect(nodeConfiguration.check([sidecar("GATEHOUSE_SIDECAR_PRUNE_ENABLED=true")])).toEqual([]);
  });

  it("reports a sidecar with pruning or metrics disabled", () => {
    const found = nodeConfiguration.check([
      sidecar("GATEHOUSE_SIDECAR_PRUNE_ENABLED=false", "GATEHOUSE_SIDECAR_MONITOR_ENABLED=false"),
    ]);
    expect(found.map(({ message }) => message)).toEqual([
      expect.stringContaining("auto-pruning is not enabled"),
      expect.stringContaining("the node pushes no metrics"),
    ]);
  });

  it("reports a version that differs from the image's", () => {
    const found = nodeConfiguration.check([sidecar("GATEHOUSE_SIDECAR_NODE_IMAGE=registry.example/node:0.15.1")]);
    expect(found[0]?.message).toBe("the sidecar is configured for node version 0.16.2, but its image is 0.15.1");
  });

  it("accepts a rendered node.conf with the version's keys", () => {
    expect(nodeConfiguration.check([sidecar(), configMap(conf(storage))])).toEqual([]);
  });

  it("reports keys of another version and missing keys with the lint's messages", () => {
    const old = { ...storage, storage_cetina_push_port: undefined, pamir_cetina_push_port: 9_091 };
    const found = nodeConfiguration.check([sidecar(), configMap(conf(old))]);
    expect(found.map(({ message }) => message)).toEqual([
      "node.conf (line 22, column 7) chain.monitor_config.pamir_cetina_push_port is silently ignored: node 0.16.2 reads the storage_* names (0.16.0 and later). Fix: rename it to storage_cetina_push_port.",
      "node.conf chain.monitor_config does not have storage_cetina_push_port, which node 0.16.2 needs",
    ]);
  });

  it("reports conflicting ports, a push address with a scheme, and disabled metrics", () => {
    const wrong = { ...storage, storage_enable_cetina: false, storage_cetina_push_address: "http://pushgateway" };
    const found = nodeConfiguration.check([sidecar(), configMap(conf(wrong, { rpc_port: "18100" }))]);
    expect(found.map(({ message }) => message).join("\n")).toMatch(
      /rpc_port is 18100, as is http_port[^]*push_address is "http:[^]*write "pushgateway"[^]*storage_enable_cetina is false/,
    );
  });

  it("checks a node.conf uploaded by a container", () => {
    const uploads = [{ file: "/run/gatehouse/incoming/node.conf", content: conf({}) }];
    const found = nodeConfiguration.check([sidecar(), buildDockerContainer({ uploads }, "node-conf")]);
    expect(found.map(({ message }) => message)).toEqual([
      "node.conf has no chain.monitor_config, so the node pushes no metrics",
    ]);
  });

  it("reports an invalid node.conf, and one without metrics", () => {
    expect(nodeConfiguration.check([sidecar(), configMap("{")])[0]?.message).toContain("is incomplete JSON");
    expect(nodeConfiguration.check([sidecar(), configMap(conf(undefined))])[0]?.message).toContain(
      "has no chain.monitor_config",
    );
  });

  it("ignores data of the wrong type", () => {
    expect(nodeConfiguration.check([sidecar(), configMap(7)])).toEqual([]);
  });
});
