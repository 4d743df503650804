import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tokenAddress } from "#devnet/token/address.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { createPulumiStack, type PulumiStack } from "../support/pulumi/pulumi-stack.ts";

const pulumi = await findPulumi("kubernetes");
const skipped = pulumi.ok ? "" : ` (skipped: ${pulumi.message})`;
const stepDeadlineMs = 300_000;
const digest = `sha256:${"a".repeat(64)}`;

let stack: PulumiStack;
let rendered = "";
let config: Readonly<Record<string, unknown>> = {};

/** Lists the distinct warnings of a preview of that configuration change. */
async function listWarnings(change: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  await stack.configure({ ...config, ...change });
  const { status, output } = await stack.run("preview");
  if (status !== 0) throw new Error(output);
  const found = output.matchAll(/^ *warning: (.* would .*)$/gm);
  return [...new Set([...found].map(([, text = ""]) => text))].toSorted();
}

/** Pulumi writes the objects to a directory, so that no cluster is needed. */
describe.skipIf(!pulumi.ok)(`a preview of the stack on Kubernetes${skipped}`, { timeout: stepDeadlineMs }, () => {
  beforeAll(async () => {
    rendered = await mkdtemp(join(tmpdir(), "gatehouse-rendered-"));
    stack = await createPulumiStack("preview");
    config = {
      target: "kubernetes",
      renderTo: rendered,
      gatehouseImage: `registry.example/gatehouse@${digest}`,
      devnetImage: `registry.example/devnet@${digest}`,
      devAccounts: true,
      tokenAddress,
      nodeVersion: "0.15.0",
      protectData: false,
    };
    expect(await listWarnings({})).toEqual([]);
    const { status, output } = await stack.run("up", "--yes", "--skip-preview");
    if (status !== 0) throw new Error(output);
  }, stepDeadlineMs);

  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    await rm(rendered, { recursive: true });
  });

  test("warns of a change that recreates the node's pod, with the changed field", async () => {
    expect(await listWarnings({ nodeVersion: "0.16.2" })).toEqual([
      expect.stringMatching(
        /^gatehouse-preview-node would recreate its pod because of spec\.template\.spec\..*: the node stops/,
      ),
    ]);
  });

  test("warns of the node and every volume when the namespace changes", async () => {
    const names = (await listWarnings({ namespace: "other" })).map((text) => text.split(" ")[0]);
    expect(names).toEqual(
      ["facilitator-ledger", "namespace-namespace", "node", "node-workspace", "resource-server-ledger"].map(
        (name) => `gatehouse-preview-${name}`,
      ),
    );
  });

  test("warns of a recreated pod with a ledger, but not of other services", async () => {
    const limits = { facilitator: { cpus: 2, memoryMebibytes: 600 }, upstream: { cpus: 2, memoryMebibytes: 600 } };
    expect(await listWarnings({ limits })).toEqual([
      expect.stringMatching(
        /^gatehouse-preview-facilitator would recreate its pod because of spec\.template\.spec\..*: payments get 503/,
      ),
    ]);
  });
});
