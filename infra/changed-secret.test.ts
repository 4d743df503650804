import { beforeAll, describe, expect, it } from "vitest";
import { runtime } from "@pulumi/pulumi";
import { recordStack } from "./testing/deployed-stack.ts";
import type { Recorded } from "./testing/recording-mocks.ts";

const config = {
  dockerEngine: "tcp://engine.example:2376",
  devAccounts: "true",
  tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
};
/** Among the settings, where a stack gives one service its own key. */
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
  }, 30_000);

  it("changes the file delivery of the service that uses it, by what it carries alone, and nothing else", () => {
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

  it("is in no environment, label or command", () => {
    const shown = after
      .filter(({ type }) => type.endsWith(":Container"))
      .map(({ inputs }) => [inputs["envs"], inputs["labels"], inputs["command"]]);
    expect(JSON.stringify(shown)).not.toContain("18".repeat(32));
  });

  it("reaches a service by its file delivery's id, which is in the service's labels and is another after a replacement", () => {
    for (const service of ["node", "facilitator", "resource-server"]) {
      const label = { label: "io.gatehouse.files", value: `gh-${service}-files-id` };
      expect(container(after, `gh-${service}`)["labels"], service).toContainEqual(label);
    }
  });
});
