import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { basename, join } from "node:path";
import { preProcessFile } from "typescript";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import packageJson from "../../package.json" with { type: "json" };
import { nodeNeeded, findOldNode } from "../support/old-node.ts";
import { root } from "../style/rooms.ts";
import { isBundled } from "../../package/build/bundled-packages.ts";
import { buildPackageSchema } from "#infra/stack-component/package-schema.ts";
import { startComponentEngine } from "../support/pulumi/component-engine.ts";
import { findGo } from "../support/pulumi/find-go.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { findPython } from "../support/pulumi/find-python.ts";
import { deployProgram, programLanguages } from "./component-program.ts";
import { measureInstalledBytes } from "./installed-size.ts";
import { expectRunbooks, startGuardingSidecar } from "./guarding-sidecar.ts";
import { expectSale, expectStrictTypes } from "./consumer-checks.ts";
import { installPackage, type InstalledPackage } from "./installed-package.ts";

const megabytes = 1_000_000;
const pulumi = await findPulumi("kubernetes");
const python = pulumi.ok ? await findPython("pulumi>=3,<4") : pulumi;
const go = pulumi.ok ? await findGo("github.com/pulumi/pulumi/sdk/v3@v3.256.0") : pulumi;
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage(inject("artifactsDirectory"));
}, 1_200_000);
afterAll(() => installed?.[Symbol.asyncDispose]());

/** The package's own files that match, as paths in it. */
const files = (pattern: string) => globSync(pattern, { cwd: installed.directory, exclude: ["node_modules/**"] });

const manifest = () => JSON.parse(readFileSync(inPackage("package.json"), "utf8")) as typeof packageJson;

describe("what is packed", () => {
  it("is small, compiled, and free of tests and sources", () => {
    expect(installed.artifacts.unpackedBytes).toBeLessThanOrEqual(5 * megabytes);
    const paths = installed.artifacts.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(["LICENSE", "README.md", "bundled/LICENSES.md", "cli/gatehouse.js", "cli/launch.js"]),
    );
    expect(paths.filter((path) => /\.test\.|(^|\/)(testing|test)\//.test(path))).toEqual([]);
    expect(paths.filter((path) => /(?<!\.d)\.m?ts$/.test(path))).toEqual([]);
  });

  it("is told of by a README whose links lead to what is there", () => {
    const readme = readFileSync(inPackage("README.md"), "utf8");
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(([, link = ""]) => link);
    expect(links).toContain("LICENSE");
    expect(links.filter((link) => !existsSync(inPackage(link)))).toEqual([]);
    const imports = [...readme.matchAll(/^\| `gatehouse-evm(\/[\w/]+)`/gm)].map(([, path = ""]) => `.${path}`);
    expect(imports.toSorted()).toEqual(
      Object.keys(packageJson.exports)
        .filter((path) => path !== "./package.json")
        .toSorted(),
    );
  });

  it("has a source map for every compiled file, and declarations for every export", () => {
    const compiled = files("**/*.js").filter((path) =>
      readFileSync(inPackage(path), "utf8").includes("sourceMappingURL"),
    );
    expect(compiled.length).toBeGreaterThan(500);
    expect(compiled.filter((path) => !existsSync(inPackage(`${path}.map`)))).toEqual([]);
    const exported = Object.values(manifest().exports).filter((path) => path.endsWith(".js"));
    expect(exported.length).toBe(Object.keys(packageJson.exports).length - 1);
    expect(exported.filter((path) => !existsSync(inPackage(path.replace(/\.js$/, ".d.ts"))))).toEqual([]);
  });

  it("imports nothing but its own files, Node, its dependencies and its optional peers", () => {
    const allowed = new Set([
      ...Object.keys(manifest().dependencies),
      ...Object.keys(manifest().peerDependencies),
      ...builtinModules,
    ]);
    const foreign = files("**/*.{js,mjs,d.ts}").flatMap((path) => {
      return importsIn(readFileSync(inPackage(path), "utf8"))
        .filter((name) => !/^(?:[.#]|node:)/.test(name) && !allowed.has(packageOf(name)))
        .map((name) => `${path} imports ${name}`);
    });
    expect(foreign).toEqual([]);
  });
});

describe("what a release has besides the package", () => {
  it("are checksums, an SBOM that names what is bundled, the single executable, and Kubernetes' objects", () => {
    const { directory: artifacts, tarball } = installed.artifacts;
    const sums = spawnSync("sha256sum", ["--check", "SHA256SUMS"], { cwd: artifacts, encoding: "utf8" });
    const kubernetes = `gatehouse-kubernetes-${packageJson.version}.tar.gz`;
    const executable = `gatehouse-${packageJson.version}-${process.platform}-${process.arch}`;
    const sboms = [`${executable}.cdx.json`, "gatehouse-evm.cdx.json"];
    const names = [basename(tarball), ...sboms, `${executable}.tar.gz`, kubernetes];
    expect(sums.stdout).toBe(names.map((name) => `${name}: OK\n`).join(""));
    const listed = spawnSync("tar", ["--list", "--file", kubernetes], { cwd: artifacts, encoding: "utf8" });
    expect(listed.stdout).toContain(`gatehouse-kubernetes-${packageJson.version}/base/kustomization.yaml\n`);
    const sbom = JSON.parse(readFileSync(join(artifacts, "gatehouse-evm.cdx.json"), "utf8")) as {
      components: readonly Readonly<{ name: string; version: string }>[];
    };
    const packages = new Set(sbom.components.map(({ name }) => name));
    expect(Object.keys(packageJson.dependencies).filter((name) => !packages.has(name))).toEqual([]);
    expect(sbom.components).toContainEqual(
      expect.objectContaining({ name: "viem", version: packageJson.dependencies.viem }),
    );
    expect(packages).not.toContain("vitest");
  });
});

describe("what is installed", () => {
  it("takes at most 60 MB without Node, and no more than docs/dependencies.md says", () => {
    const page = readFileSync(join(root, "docs/dependencies.md"), "utf8");
    const told = Number(/npm package: \d+ packages, (\d+) MB/.exec(page)?.[1]) * megabytes;
    const measured = measureInstalledBytes(installed.directory);
    process.stdout.write(`installed without optional packages and peers: ${(measured / megabytes).toFixed(1)} MB\n`);
    expect(measured).toBeLessThanOrEqual(60 * megabytes);
    expect(measured).toBeLessThanOrEqual(told * 1.05);
  });

  it("has the licence of everything that is bundled", () => {
    const text = readFileSync(inPackage("bundled/LICENSES.md"), "utf8");
    const parts = text.split(/^# (?=\S+ \d+\.\d+\.\d+$)/m).slice(1);
    const titles = parts.map((part) => part.split(" ")[0]);
    expect(titles).toEqual(
      expect.arrayContaining(["viem", "ox", "@noble/curves", "@x402/core", "@opentelemetry/core"]),
    );
    expect(parts.filter((part) => !/Permission is hereby granted|Apache License|Licence: \S+/.test(part))).toEqual([]);
  });

  it("has nothing of it from npm", () => {
    const names = Object.keys(manifest().dependencies);
    expect(names.filter(isBundled)).toEqual([]);
    expect(existsSync(join(installed.folder, "node_modules/viem"))).toBe(false);
  });
});

describe("the installed command", () => {
  it("tells the package's version under both of its names", async () => {
    const version = `${packageJson.version}\n`;
    expect(await installed.gatehouse(["--version"])).toMatchObject({ status: 0, stdout: version });
    const other = join(installed.folder, "node_modules/.bin/gatehouse-evm");
    expect(await installed.run(other, ["--version"])).toMatchObject({ status: 0, stdout: version });
  });

  it("helps with each command", async () => {
    const { stdout } = await installed.gatehouse(["--help"]);
    const [, list = ""] = stdout.split(/Commands:|Start here:/);
    const commands = [...list.matchAll(/^ {2}([a-z][a-z-]+)/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "help");
    expect(commands).toEqual(expect.arrayContaining(["stack", "sidecar", "gateway", "pay", "plan", "lint"]));
    for (const command of commands) {
      const help = await installed.gatehouse([command, "--help"]);
      expect([command, help.status, help.stdout.startsWith(`Usage: gatehouse ${command}`)]).toEqual([command, 0, true]);
    }
  });

  it("judges and plans a node.conf", async () => {
    const path = join(installed.folder, "node.conf");
    await writeFile(path, driftedConfig);
    const plan = await installed.gatehouse(["plan", "--config", path, "--node-version", "0.16.2"]);
    expect(plan).toMatchObject({ status: 2, stderr: "" });
    expect(plan.stdout).toContain("storage_enable_cetina");
    const lint = await installed.gatehouse(["lint", "--json", path]);
    expect(lint.status).toBe(2);
    expect(JSON.parse(lint.stdout)).toMatchObject({ configPath: path });
  });

  it("names each wrong setting of a service, and does not start", async () => {
    const { status, stderr } = await installed.gatehouse(["gateway"], { GATEHOUSE_GATEWAY_PUBLIC_PORT: "none" });
    expect(status).toBe(1);
    expect(stderr).toContain("GATEHOUSE_GATEWAY_PUBLIC_PORT");
  });

  it("brings up the whole stack, and buys one request", () => expectSale(installed));

  it("guards a node, and serves the runbooks to a browser and to curl", async () => {
    await using node = await createFakeNode();
    await node.start();
    const { folder } = installed;
    const program = join(folder, "node_modules/.bin/gatehouse");
    await using sidecar = await startGuardingSidecar(node, { program, folder });
    await expectRunbooks(sidecar.urls["sidecar"] ?? "");
  });

  const old = findOldNode();
  it.skipIf(old === undefined)(
    `tells an old Node so in one line${old === undefined ? " (skipped: no old Node on PATH)" : ""}`,
    async () => {
      const { status, stdout, stderr } = await installed.run(old!, [inPackage("cli/gatehouse.js"), "sidecar"]);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toMatch(
        new RegExp(`^gatehouse: this is Node .*; Gatehouse needs Node ${nodeNeeded} or later\\. .*\\n$`),
      );
    },
  );
});

describe("the installed library", () => {
  it("compiles for a strict consumer of every export", () => expectStrictTypes(installed));

  it("compiles for a strict consumer that resolves as a bundler does, or as Node 16 did", async () => {
    expect(
      await installed.compile("without-pulumi.mts", "--module", "esnext", "--moduleResolution", "bundler"),
    ).toEqual([]);
    const told = await installed.compile("without-pulumi.mts", "--module", "node16", "--moduleResolution", "node16");
    expect(told).toEqual([]);
  });

  it("compiles for the example of a program with the component", async () => {
    await cp(join(root, "examples/pulumi/typescript/index.ts"), join(installed.folder, "program.mts"));
    expect(await installed.compile("program.mts", "--module", "nodenext")).toEqual([]);
  });

  it("is there for require", async () => {
    const { stderr, stdout } = await installed.run(process.execPath, ["require-all.cjs"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      client: expect.arrayContaining(["payingFetch", "tokenReader"]) as unknown,
      lint: ["lintConfig", "lintRules", "parseNodeVersion"],
      policies: ["gatehousePolicies"],
      pulumi: expect.arrayContaining(["Gatehouse", "Service", "deploymentSecret", "facilitatorSpec"]) as unknown,
      "pulumi/docker": ["DockerHost"],
      "pulumi/kubernetes": ["KubernetesNamespace"],
      settings: expect.arrayContaining(["gatewaySettings", "readSettings", "sidecarSettings"]) as unknown,
    });
  });

  it("deploys by a Pulumi program", async () => {
    const { status, stdout, stderr } = await installed.run(process.execPath, ["deployment.mjs"]);
    expect(status, stderr).toBe(0);
    const resources = JSON.parse(stdout) as readonly { type: string }[];
    expect(resources.findLast(({ type }) => type === "docker:index/container:Container")).toMatchObject({
      name: "pay-facilitator",
      command: ["facilitator"],
      image: "registry.example/gatehouse:1",
    });
  });

  it("judges by its policies, and its pack serves Pulumi", async () => {
    const { stdout, stderr } = await installed.run(process.execPath, ["judged.mjs"]);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^image-pinned: shop /m);
    const pack = spawn(process.execPath, ["."], {
      cwd: inPackage("policies"),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(pack, "exit");
    // Pulumi's engine reads the port of the pack's server from there.
    const [port] = (await once(pack.stdout, "data")) as [Buffer];
    expect(String(port)).toMatch(/^\d+\n$/);
    pack.kill();
    await ended;
  });
});

describe("the installed components", () => {
  it("are there for every language: the plugin tells the schema, and makes the whole system", async () => {
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
    it.skipIf(!needed.ok)(`deploy by the example in ${language}${skipped}`, async () => {
      const { folder, outputs } = await deployProgram(installed, language);
      expect(outputs).toMatchObject({
        status: "http://sidecar-status:9600/status",
        signer: { howToFund: expect.any(String) as unknown },
      });
      expect(globSync("rendered/**/*.yaml", { cwd: folder }).length).toBeGreaterThan(25);
    });
  }
});

/** Every specifier that a file imports, as TypeScript reads it. */
function importsIn(code: string): readonly string[] {
  return preProcessFile(code).importedFiles.map(({ fileName }) => fileName);
}

function inPackage(path: string): string {
  return join(installed.directory, path);
}

/** The package that a specifier leads into. */
function packageOf(name: string): string {
  return name.split("/", name.startsWith("@") ? 2 : 1).join("/");
}
