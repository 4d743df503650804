import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { root } from "../style/rooms.ts";
import { buildPackageSchema } from "#infra/stack-component/package-schema.ts";
import { startComponentEngine } from "../support/pulumi/component-engine.ts";
import { findGo } from "../support/pulumi/find-go.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { findPython } from "../support/pulumi/find-python.ts";
import { deployProgram, programLanguages } from "./component-program.ts";
import { expectStrictTypes } from "./consumer-checks.ts";
import { installPackage, type InstalledPackage } from "./installed-package.ts";

const pulumi = await findPulumi("kubernetes");
const python = pulumi.ok ? await findPython("pulumi>=3,<4") : pulumi;
const go = pulumi.ok ? await findGo("github.com/pulumi/pulumi/sdk/v3@v3.256.0") : pulumi;
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage(inject("artifactsDirectory"));
}, 1_200_000);

describe("the installed library", () => {
  it.each(["typescript", "typescript-native"] as const)(
    "compiles for a strict consumer of every export: %s",
    (compiler) => expectStrictTypes(installed, compiler),
  );

  it("compiles for a strict consumer with bundler and with Node 16 resolution", async () => {
    for (const [module, resolution] of [
      ["esnext", "bundler"],
      ["node16", "node16"],
    ] as const) {
      const options = ["--module", module, "--moduleResolution", resolution];
      expect(await installed.compile("typescript-native", "without-pulumi.mts", ...options)).toEqual([]);
    }
  });

  it("compiles with the example Pulumi program", async () => {
    await cp(join(root, "examples/pulumi/typescript/index.ts"), join(installed.folder, "program.mts"));
    expect(await installed.compile("typescript-native", "program.mts", "--module", "nodenext")).toEqual([]);
  });

  it("supports require", async () => {
    const { stderr, stdout } = await installed.run(process.execPath, ["require-all.cjs"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      client: expect.arrayContaining(["payingFetch", "tokenReader"]) as unknown,
      lint: ["lintConfig", "lintRules", "parseNodeVersion"],
      policies: ["gatehousePolicies"],
      pulumi: expect.arrayContaining(["Service", "Stack", "deploymentSecret", "facilitatorSpec"]) as unknown,
      "pulumi/docker": ["DockerHost"],
      "pulumi/kubernetes": ["KubernetesNamespace"],
      settings: expect.arrayContaining(["gatewaySettings", "readSettings", "sidecarSettings"]) as unknown,
    });
  });

  it("deploys from a Pulumi program", async () => {
    const { status, stdout, stderr } = await installed.run(process.execPath, ["deployment.mjs"]);
    expect(status, stderr).toBe(0);
    const resources = JSON.parse(stdout) as readonly { type: string }[];
    expect(resources.findLast(({ type }) => type === "docker:index/container:Container")).toMatchObject({
      name: "pay-facilitator",
      command: ["facilitator"],
      image: "registry.example/gatehouse:1",
    });
  });

  it("reports a policy violation, and its policy pack starts for Pulumi", async () => {
    const { stdout, stderr } = await installed.run(process.execPath, ["policy-check.mjs"]);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^image-pinned: shop /m);
    const pack = spawn(process.execPath, ["."], {
      cwd: inPackage("policies"),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(pack, "exit");
    // Pulumi's engine reads the port of the policy pack's server from there.
    const [port] = (await once(pack.stdout, "data")) as [Buffer];
    expect(String(port)).toMatch(/^\d+\n$/);
    pack.kill();
    await ended;
  });
});

describe("the installed components", () => {
  it("serve their schema through the plugin, and deploy the whole stack", async () => {
    await using engine = await startComponentEngine(inPackage("infra/plugin"));
    expect(JSON.parse(await engine.schema())).toEqual(buildPackageSchema());
    const inputs = {
      target: "kubernetes",
      renderTo: "rendered",
      gatehouseImage: "registry.example/gatehouse:1",
      devnetImage: "registry.example/gatehouse-devnet:1",
      devAccounts: true,
      tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
    };
    const { state } = await engine.construct({ inputs });
    expect(state["status"]).toBe("http://sidecar-status:9600/status");
    expect(engine.takeRegistered().map(({ type }) => type)).toContain("kubernetes:apps/v1:StatefulSet");
  });

  for (const language of programLanguages) {
    const needed = { yaml: pulumi, python, go, typescript: pulumi }[language];
    const skipped = needed.ok ? "" : ` (skipped: ${needed.message})`;
    it.skipIf(!needed.ok)(`deploy with the example in ${language}${skipped}`, async () => {
      const { folder, outputs } = await deployProgram(installed, language);
      expect(outputs).toMatchObject({
        status: "http://sidecar-status:9600/status",
        signer: { howToFund: expect.any(String) as unknown },
      });
      expect(globSync("rendered/**/*.yaml", { cwd: folder }).length).toBeGreaterThan(25);
    });
  }
});

function inPackage(path: string): string {
  return join(installed.directory, path);
}
