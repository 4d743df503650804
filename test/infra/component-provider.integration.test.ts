import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runtime } from "@pulumi/pulumi";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tokenAddress } from "#devnet/token/address.ts";
import { printPackageSchema } from "#infra/stack-component/package-schema.ts";
import {
  givenProvider,
  programUrn,
  startComponentEngine,
  type RequestedComponent,
  type ComponentEngine,
} from "../support/pulumi/component-engine.ts";
import { root } from "../style/rooms.ts";

const digest = `sha256:${"a".repeat(64)}`;
const sandbox = {
  target: "kubernetes",
  renderTo: "rendered",
  gatehouseImage: `registry.example/gatehouse@${digest}`,
  devnetImage: `registry.example/devnet@${digest}`,
  devAccounts: true,
  tokenAddress,
};
const { devAccounts: _, ...withoutAccounts } = sandbox;
const signerPrivateKey = `0x${"17".repeat(32)}`;
const paid = { ...withoutAccounts, payTo: `0x${"01".repeat(20)}` };

/** Marks a value as secret in Pulumi's wire format. */
const markSecret = (value: string) => ({ [runtime.specialSigKey]: runtime.specialSecretSig, value });

/** A value without the wire format's secret markers. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null) return value;
  if (runtime.specialSigKey in value) return "a secret";
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSecrets(inner)]));
}

let engine: ComponentEngine;

/** gRPC status code for an invalid request. */
const invalidArgument = 3;

/**
 * Returns all of the plugin's errors about a component: the message, and each input with its error. Expects that only the component itself
 * is registered.
 */
async function rejectionOf(asked: RequestedComponent): Promise<string> {
  const rejected = await engine.construct(asked).then(
    () => {
      throw new Error("the component was created");
    },
    (error: unknown) => error as Readonly<{ code: number; details: string; metadata: { get(name: string): Buffer[] } }>,
  );
  expect(rejected.code).toBe(invalidArgument);
  const registered: string[] = [];
  // The component is registered during the validation of its inputs, or later.
  await expect.poll(() => registered.push(...engine.takeRegistered().map(({ type }) => type))).toBeGreaterThan(0);
  expect(registered).toEqual(["gatehouse:index:Stack"]);
  return [rejected.details, ...rejected.metadata.get("grpc-status-details-bin")].map(String).join("\n");
}

beforeAll(async () => {
  engine = await startComponentEngine(join(root, "infra/plugin"));
});
afterAll(() => engine?.[Symbol.asyncDispose]());

describe("the component plugin", () => {
  it("serves the package schema", async () => {
    expect(await engine.schema()).toBe(printPackageSchema());
  });

  it("deploys the whole stack below one component, with its URLs as outputs", async () => {
    const { urn, state } = await engine.construct({ inputs: sandbox });
    const registered = engine.takeRegistered();
    expect(state).toMatchObject({
      status: "http://sidecar-status:9600/status",
      urls: { tokenHolders: { privateGateway: "http://gateway:8547" } },
      signer: { howToFund: "The devnet funds this account; no action needed." },
      configuration: { sidecar: { settingsSha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown } },
    });
    expect(registered.filter(({ parent }) => parent === programUrn).map(({ type }) => type)).toEqual([
      "gatehouse:index:Stack",
    ]);
    expect(registered.filter(({ parent }) => parent === urn).map(({ type }) => type)).toEqual(
      expect.arrayContaining(["gatehouse:index:Gatehouse", "gatehouse:kubernetes:KubernetesNamespace"]),
    );
    expect(registered.map(({ type, name }) => `${type} ${name}`)).toEqual(
      expect.arrayContaining([
        "kubernetes:apps/v1:StatefulSet pay-test-node",
        "kubernetes:apps/v1:Deployment pay-test-facilitator",
        "kubernetes:apps/v1:Deployment pay-test-resource-server",
      ]),
    );
  });

  it("keeps a secret input secret, even if given as plain text", async () => {
    for (const key of [signerPrivateKey, markSecret(signerPrivateKey)]) {
      const { state } = await engine.construct({ inputs: { ...paid, signerPrivateKey: key } });
      const registered = engine.takeRegistered();
      expect(JSON.stringify(registered)).toContain(signerPrivateKey);
      expect(JSON.stringify(registered.map(({ inputs }) => withoutSecrets(inputs)))).not.toContain(signerPrivateKey);
      expect(JSON.stringify(state)).not.toContain(signerPrivateKey);
      expect(state["status"]).toBe("http://sidecar-status:9600/status");
    }
  });

  it("deploys a second component of the same program", async () => {
    await engine.construct({ inputs: sandbox });
    await engine.construct({ name: "sell", inputs: { ...sandbox, namespace: "sell" } });
    const named = engine.takeRegistered().map(({ type, name }) => `${type} ${name}`);
    expect(new Set(named).size).toBe(named.length);
    expect(named).toContain("kubernetes:core/v1:Namespace sell-test-namespace-namespace");
  });

  it("deploys to a Docker host", async () => {
    // An engine reached by SSH is not checked beforehand.
    const { target: _target, renderTo: _renderTo, ...inputs } = sandbox;
    const { state } = await engine.construct({ inputs: { ...inputs, dockerEngine: "ssh://operator@host.example" } });
    const registered = engine.takeRegistered();
    expect(state).toMatchObject({ status: "http://127.0.0.1:9600/status" });
    const containers = registered.filter(({ type }) => type === "docker:index/container:Container");
    expect(containers.map(({ name }) => name)).toContain("pay-test-sidecar");
    expect(containers.filter(({ provider }) => !provider.includes("::pay-test-engine::"))).toEqual([]);
  });

  it("uses the given provider", async () => {
    const provider = `${givenProvider.urn}::${givenProvider.id}`;
    // Images without a registry, so that no registry is queried.
    const images = { gatehouseImage: `gatehouse@${digest}`, devnetImage: `devnet@${digest}` };
    const { renderTo: _renderTo, ...inputs } = { ...sandbox, ...images };
    await engine.construct({ inputs, providers: { kubernetes: provider } });
    const registered = engine.takeRegistered();
    expect(registered.filter(({ type }) => type.startsWith("pulumi:providers:"))).toEqual([]);
    const objects = registered.filter(({ type }) => type.startsWith("kubernetes:"));
    expect(new Set(objects.map((object) => object.provider))).toEqual(new Set([provider]));
  });

  it("rejects renderTo with a given provider", async () => {
    const providers = { kubernetes: `${givenProvider.urn}::${givenProvider.id}` };
    const rejection = await rejectionOf({ inputs: sandbox, providers });
    expect(rejection).toContain("renderTo");
    expect(rejection).toContain("found together with an explicit or inherited provider");
  });

  it("reports every invalid input at once, then deploys a component with aliases", async () => {
    const wrong = { ...sandbox, chainId: 0, tokenAddress: "0x12", nodeRestart: "hope" };
    const rejection = await rejectionOf({ inputs: wrong });
    expect(rejection).toContain("3 problems in the inputs of pay; nothing was changed");
    for (const input of ["chainId", "tokenAddress", "nodeRestart"]) expect(rejection).toContain(input);
    expect(rejection).not.toContain("pulumi config");
    const alias = "urn:pulumi:test::shop::gatehouse:index:Stack::before";
    await engine.construct({ inputs: sandbox, alias });
    const registered = engine.takeRegistered();
    expect(registered.length).toBeGreaterThan(30);
    expect(registered[0]).toMatchObject({ type: "gatehouse:index:Stack", name: "pay", aliases: [alias] });
  });

  it("masks URL credentials in a rejected input", async () => {
    const rejection = await rejectionOf({
      inputs: { ...sandbox, pushgatewayUrl: "ftp://pusher:hunter2@metrics.example" },
    });
    expect(rejection).toContain("pushgatewayUrl");
    expect(rejection).toContain("metrics.example");
    expect(rejection).not.toContain("hunter2");
  });

  it("registers only itself in a preview with unknown inputs, and explains the next step", async () => {
    const inputs = { ...paid, signerPrivateKey: markSecret(runtime.unknownValue) };
    const { state } = await engine.construct({ inputs, isPreview: true });
    expect(engine.takeRegistered().map(({ type }) => type)).toEqual(["gatehouse:index:Stack"]);
    expect(state["status"]).toBe(runtime.unknownValue);
    expect(engine.logged.join("\n")).toContain("some inputs are unknown in this preview");
    expect(engine.logged.join("\n")).toContain("`pulumi up --target <its URN>`");
  });

  it("rejects an unknown component type", async () => {
    const rejected = engine.construct({ type: "gatehouse:index:Stak", inputs: sandbox });
    await expect(rejected).rejects.toMatchObject({
      message: expect.stringContaining("gatehouse:index:Stak") as unknown,
    });
  });
});

describe("a program that creates the component itself", () => {
  it("exits with the problems of its inputs", () => {
    const program = `
      import { runtime } from "@pulumi/pulumi";
      import { Stack } from "${pathToFileURL(join(root, "infra/stack-component/stack.ts")).href}";
      const mocks = { newResource: ({ name, inputs }) => ({ id: name, state: inputs }), call: ({ inputs }) => inputs };
      await runtime.setMocks(mocks, "shop", "test", false);
      new Stack("pay", { ...${JSON.stringify(sandbox)}, chainId: 0 });`;
    const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: root,
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(stderr).toContain("1 problem in the inputs of pay; nothing was changed");
    expect(stderr).toContain("chainId: found 0; expected an EIP-155 chain id");
    expect(stderr).not.toContain("pulumi config");
  });
});
