import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { recordStack, findManifest, listManifests } from "../testing/deployed-stack.ts";
import { expectGolden, locateGoldenDirectory } from "../testing/golden.ts";
import { readHotRestartSettings } from "../testing/delivered-settings.ts";
import type { Recorded } from "../testing/recording-mocks.ts";
import { findSchemaViolations } from "../testing/kubernetes-schema.ts";
import { findUnknownFields } from "../testing/strict-schema.ts";
import { devnet, onKubernetes } from "../testing/stack-configs.ts";

const config = {
  ...onKubernetes,
  ...devnet,
  ingress: JSON.stringify({
    gatewayHost: "rpc.example",
    resourceServerHost: "paid.example",
    tlsSecret: "public-tls",
    className: "nginx",
  }),
};

type PodSpec = Readonly<{
  initContainers: readonly Readonly<{ name: string; command?: string[] }>[];
  containers: readonly Readonly<{ name: string }>[];
  volumes: readonly unknown[];
}>;

type Container = Readonly<{ env: readonly Readonly<{ name: string; value?: string }>[] }>;

let recorded: readonly Recorded[] = [];
const manifests = () => listManifests(recorded);
const find = (kind: string, name: string) => findManifest(manifests(), kind, name);
const podOf = (kind: string, name: string) => (find(kind, name).spec["template"] as { spec: PodSpec }).spec;

beforeAll(async () => {
  recorded = await recordStack(config, { preview: false });
});

describe("the stack on Kubernetes", () => {
  it("matches the golden files", async () => {
    await expectGolden("stack", manifests());
  });

  it("deploys to the configured cluster, not the environment's", () => {
    const own = recorded.filter(({ type }) => type.startsWith("kubernetes:"));
    expect(own.filter(({ provider }) => !provider.includes("::cluster::")).map(({ name }) => name)).toEqual([]);
  });

  it("matches the published schemas without unknown fields", async () => {
    expect(await findSchemaViolations(manifests())).toEqual([]);
    const misspelt = structuredClone(find("PodDisruptionBudget", "facilitator"));
    Object.assign(misspelt.spec["selector"] as object, { matchLabel: {} });
    expect(findUnknownFields([...manifests(), misspelt])).toEqual([
      `PodDisruptionBudget facilitator: Object literal may only specify known properties, and '"matchLabel"' does not exist in type 'ILabelSelector'.`,
    ]);
  });

  it("configures trusted proxies for both public services", () => {
    const { containers } = podOf("Deployment", "resource-server") as unknown as { containers: readonly Container[] };
    const proxies = '["10.0.0.0/8","172.16.0.0/12","192.168.0.0/16","100.64.0.0/10","fc00::/7"]';
    const callers = { trustedProxies: JSON.parse(proxies) as unknown, forwardedHops: 1 };
    expect(readHotRestartSettings(recorded)).toMatchObject({ gateway: { callers } });
    expect(containers[0]?.env).toEqual(
      expect.arrayContaining([
        { name: "GATEHOUSE_RESOURCE_SERVER_LISTEN_TRUSTED_PROXIES", value: proxies },
        { name: "GATEHOUSE_RESOURCE_SERVER_LISTEN_FORWARDED_HOPS", value: "1" },
      ]),
    );
  });

  it("reveals no secret in the golden files", () => {
    const golden = readdirSync(locateGoldenDirectory("stack")).map((file) =>
      readFileSync(join(locateGoldenDirectory("stack"), file), "utf8"),
    );
    expect(golden.join("")).not.toContain("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
  });
});

describe("a preview of the stack on Kubernetes", () => {
  it("succeeds without values that only the cluster knows", async () => {
    expect(listManifests(await recordStack(config, { preview: true })).length).toBeGreaterThan(25);
  });
});
