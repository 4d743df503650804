import { beforeAll, describe, expect, it } from "vitest";
import { runtime } from "@pulumi/pulumi";
import { listManifests, recordStack } from "../../infra/testing/deployed-stack.ts";
import type { Recorded } from "../../infra/testing/recording-mocks.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { devnet, onDocker, onKubernetes } from "#infra/testing/stack-configs.ts";

const config = { ...onDocker, ...devnet };
/** In the settings, if a stack gives one service its own key. */
const withSigner = (byte: string) => ({
  ...config,
  settings: JSON.stringify({ facilitator: { signer: { privateKey: `0x${byte.repeat(32)}` } } }),
});
let before: readonly Recorded[] = [];
let after: readonly Recorded[] = [];

const container = (recorded: readonly Recorded[], name: string) =>
  recorded.find((candidate) => candidate.name === name && candidate.type.endsWith(":Container"))?.inputs ?? {};

describe("a changed secret on Docker", () => {
  beforeAll(async () => {
    before = await recordStack(withSigner("17"), { preview: false });
    after = await recordStack(withSigner("18"), { preview: false });
  });

  it("changes only the file delivery of the service that uses it", () => {
    const changed = after.filter(
      ({ inputs }, index) => JSON.stringify(inputs) !== JSON.stringify(before[index]?.inputs),
    );
    expect(changed.map(({ name }) => name)).toEqual(["gh-facilitator-files"]);
    const { uploads, ...others } = container(after, "gh-facilitator-files");
    const { uploads: earlier, ...same } = container(before, "gh-facilitator-files");
    expect(others).toEqual(same);
    expect(uploads).not.toEqual(earlier);
    expect((uploads as Record<string, unknown>)[runtime.specialSigKey]).toBe(runtime.specialSecretSig);
  });

  it("appears in no environment, label or command", () => {
    const shown = after
      .filter(({ type }) => type.endsWith(":Container"))
      .map(({ inputs }) => [inputs["envs"], inputs["labels"], inputs["command"]]);
    expect(JSON.stringify(shown)).not.toContain("18".repeat(32));
  });

  it("restarts its service through the delivery container's id in its labels", () => {
    for (const service of ["node", "facilitator", "resource-server"]) {
      const label = { label: "io.gatehouse.files", value: `gh-${service}-files-id` };
      expect(container(after, `gh-${service}`)["labels"], service).toContainEqual(label);
    }
  });
});

const targets = { docker: config, kubernetes: { ...onKubernetes, ...devnet } };
/** Every secret that the sidecar accepts. */
const withSidecarSecrets = (character: string): Readonly<Record<string, object>> => ({
  upkeep: { controlToken: character.repeat(32) },
  gateway: {
    rateStore: { redisUrl: `redis://user:${character.repeat(20)}@redis.example:6379` },
    tracing: { authorization: `Bearer ${character.repeat(20)}` },
  },
});

describe.each(Object.entries(targets))("a changed secret of the sidecar on %s", (target, place) => {
  const type = target === "docker" ? "Container" : "Secret";
  const deploy = (character: string) =>
    recordStack({ ...place, settings: JSON.stringify({ sidecar: withSidecarSecrets(character) }) }, { preview: false });

  it("replaces only the resource that delivers it, so the sidecar hot-restarts", async () => {
    const [first, second] = [await deploy("x"), await deploy("y")];
    const changed = second.filter(
      ({ inputs }, index) => JSON.stringify(inputs) !== JSON.stringify(first[index]?.inputs),
    );
    expect(changed.map(({ type: whole, name }) => `${whole.split(":").at(-1)} ${name}`)).toEqual([
      `${type} gh-sidecar-secrets`,
    ]);
  });

  it("is marked secret in Pulumi, and appears in no other resource", async () => {
    const recorded = await deploy("x");
    const showing = recorded.filter(({ inputs }) => JSON.stringify(inputs).includes("x".repeat(20)));
    expect(showing.map(({ name }) => name)).toEqual(["gh-sidecar-secrets"]);
    const { uploads, stringData } = showing[0]?.inputs ?? {};
    expect(((uploads ?? stringData) as Record<string, unknown>)[runtime.specialSigKey]).toBe(runtime.specialSecretSig);
  });
});

/** The pod templates of a stack with a signer's key, by name. */
async function listTemplates(byte: string) {
  const own = { tokenAddress, signerPrivateKey: `0x${byte.repeat(32)}`, payTo: `0x${"01".repeat(20)}` };
  const manifests = listManifests(await recordStack({ ...onKubernetes, ...own }, { preview: false }));
  return manifests.flatMap(({ metadata, spec }) =>
    spec?.["template"] === undefined ? [] : [[metadata.name, JSON.stringify(spec["template"])] as const],
  );
}

describe("a changed signer key on Kubernetes", () => {
  it("restarts only the pods of services whose files it changes", async () => {
    const templates = new Map(await listTemplates("17"));
    const rotated = await listTemplates("18");
    expect(rotated.map(([name]) => name)).toEqual([
      "facilitator",
      "pushgateway",
      "resource-server",
      "upstream",
      "node",
    ]);
    // The resource server signs the tokens that it sells with its own key, which is derived from the signer's.
    const rolledNames = rotated.filter(([name, template]) => template !== templates.get(name)).map(([name]) => name);
    expect(rolledNames).toEqual(["facilitator", "resource-server"]);
  });
});
