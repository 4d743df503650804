import { globSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { describe, expect, it, onTestFinished } from "vitest";
import { tokenAddress } from "#devnet/token/address.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { createPulumiStack } from "../support/pulumi/pulumi-stack.ts";

const pulumi = await findPulumi("kubernetes");
const skipped = pulumi.ok ? "" : ` (skipped: ${pulumi.message})`;
const digest = `sha256:${"a".repeat(64)}`;

/** Files that `renderTo` writes, by their path under it. */
async function renderedFiles(): Promise<Readonly<Record<string, string>>> {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-rendered-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await using stack = await createPulumiStack("render");
  await stack.configure({
    target: "kubernetes",
    renderTo: directory,
    gatehouseImage: `registry.example/gatehouse@${digest}`,
    devnetImage: `registry.example/devnet@${digest}`,
    devAccounts: true,
    tokenAddress,
    protectData: false,
  });
  const { status, output } = await stack.run("up", "--yes", "--skip-preview");
  if (status !== 0) throw new Error(output);
  const paths = globSync("**/*.yaml", { cwd: directory }).toSorted();
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(directory, path), "utf8")] as const)),
  );
}

describe.skipIf(!pulumi.ok)(`the output of renderTo${skipped}`, { timeout: 600_000 }, () => {
  it("is one file per object, and identical for the same configuration", async () => {
    const first = await renderedFiles();
    expect(Object.keys(first).length).toBeGreaterThan(25);
    expect(Object.values(first).filter((text) => parseAllDocuments(text).length !== 1)).toEqual([]);
    expect(await renderedFiles()).toEqual(first);
  });
});
