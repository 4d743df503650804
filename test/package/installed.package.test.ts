import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { basename, join } from "node:path";
import { preProcessFile } from "typescript";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import packageJson from "../../package.json" with { type: "json" };
import { nodeNeeded, findOldNode } from "../support/node/old-node.ts";
import { root } from "../style/rooms.ts";
import { isBundled } from "../../package/build/bundled-packages.ts";
import { measureInstalledBytes } from "./installed-size.ts";
import { expectRunbooks, startGuardingSidecar } from "./guarding-sidecar.ts";
import { expectSale } from "./consumer-checks.ts";
import { installPackage, type InstalledPackage } from "./installed-package.ts";

const megabytes = 1_000_000;
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage(inject("artifactsDirectory"));
}, 1_200_000);

/** The package's own files that match, as paths in the package. */
const files = (pattern: string) => globSync(pattern, { cwd: installed.directory, exclude: ["node_modules/**"] });

const manifest = () => JSON.parse(readFileSync(inPackage("package.json"), "utf8")) as typeof packageJson;

describe("the packed files", () => {
  it("are small, compiled, and free of tests and sources", () => {
    expect(installed.artifacts.unpackedBytes).toBeLessThanOrEqual(5.5 * megabytes);
    const paths = installed.artifacts.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(["LICENSE", "README.md", "bundled/LICENSES.md", "cli/gatehouse.js", "cli/launch.js"]),
    );
    expect(paths.filter((path) => /\.test\.|(^|\/)(testing|test)\//.test(path))).toEqual([]);
    expect(paths.filter((path) => /(?<!\.d)\.m?ts$/.test(path))).toEqual([]);
  });

  it("have a README with valid links", () => {
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

  it("have a source map per compiled file, and declarations for every export", () => {
    const compiledFiles = files("**/*.js").filter((path) =>
      readFileSync(inPackage(path), "utf8").includes("sourceMappingURL"),
    );
    expect(compiledFiles.length).toBeGreaterThan(500);
    expect(compiledFiles.filter((path) => !existsSync(inPackage(`${path}.map`)))).toEqual([]);
    const exported = Object.values(manifest().exports).filter((path) => path.endsWith(".js"));
    expect(exported.length).toBe(Object.keys(packageJson.exports).length - 1);
    expect(exported.filter((path) => !existsSync(inPackage(path.replace(/\.js$/, ".d.ts"))))).toEqual([]);
  });

  it("import only their own files, Node, dependencies and optional peers", () => {
    const allowed = new Set([
      ...Object.keys(manifest().dependencies),
      ...Object.keys(manifest().peerDependencies),
      ...builtinModules,
    ]);
    const foreignFiles = files("**/*.{js,mjs,d.ts}").flatMap((path) => {
      return importsIn(readFileSync(inPackage(path), "utf8"))
        .filter((name) => !/^(?:[.#]|node:)/.test(name) && !allowed.has(packageOf(name)))
        .map((name) => `${path} imports ${name}`);
    });
    expect(foreignFiles).toEqual([]);
  });
});

describe("the other release artifacts", () => {
  it("are checksums, SBOMs with bundled packages, the executable and the Kubernetes objects", () => {
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

describe("the installed package", () => {
  it("takes at most 60 MB, and no more than docs/dependencies.md states", () => {
    const page = readFileSync(join(root, "docs/dependencies.md"), "utf8");
    const stated = Number(/npm package: \d+ packages, (\d+) MB/.exec(page)?.[1]) * megabytes;
    const measured = measureInstalledBytes(installed.directory);
    process.stdout.write(`installed without optional packages and peers: ${(measured / megabytes).toFixed(1)} MB\n`);
    expect(measured).toBeLessThanOrEqual(60 * megabytes);
    expect(measured).toBeLessThanOrEqual(stated * 1.05);
  });

  it("includes the licence of every bundled package", () => {
    const text = readFileSync(inPackage("bundled/LICENSES.md"), "utf8");
    const parts = text.split(/^# (?=\S+ \d+\.\d+\.\d+$)/m).slice(1);
    const titles = parts.map((part) => part.split(" ")[0]);
    expect(titles).toEqual(
      expect.arrayContaining(["viem", "ox", "@noble/curves", "@x402/core", "@opentelemetry/core"]),
    );
    expect(parts.filter((part) => !/Permission is hereby granted|Apache License|Licence: \S+/.test(part))).toEqual([]);
  });

  it("installs no bundled package from npm", () => {
    const names = Object.keys(manifest().dependencies);
    expect(names.filter(isBundled)).toEqual([]);
    expect(existsSync(join(installed.folder, "node_modules/viem"))).toBe(false);
  });
});

describe("the installed command", () => {
  it("prints the package's version under both of its names", async () => {
    const version = `${packageJson.version}\n`;
    expect(await installed.gatehouse(["--version"])).toMatchObject({ status: 0, stdout: version });
    const other = join(installed.folder, "node_modules/.bin/gatehouse-evm");
    expect(await installed.run(other, ["--version"])).toMatchObject({ status: 0, stdout: version });
  });

  it("prints help for each command", async () => {
    const { stdout } = await installed.gatehouse(["--help"]);
    const list = stdout.slice(stdout.indexOf("\nStart:"), stdout.indexOf("\nStart here:"));
    const commands = [...list.matchAll(/^ {2}([a-z][a-z-]+)/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "help");
    expect(commands).toEqual(expect.arrayContaining(["stack", "sidecar", "gateway", "pay", "config"]));
    for (const command of commands) {
      const help = await installed.gatehouse([command, "--help"]);
      expect([command, help.status, help.stdout.startsWith(`Usage: gatehouse ${command}`)]).toEqual([command, 0, true]);
    }
  });

  it("lints a node.conf and plans its changes", async () => {
    const path = join(installed.folder, "node.conf");
    await writeFile(path, driftedConfig);
    const plan = await installed.gatehouse(["config", "plan", "--config", path, "--node-version", "0.16.2"]);
    expect(plan).toMatchObject({ status: 2, stderr: "" });
    expect(plan.stdout).toContain("storage_enable_cetina");
    const lint = await installed.gatehouse(["config", "lint", "--json", path]);
    expect(lint.status).toBe(2);
    expect(JSON.parse(lint.stdout)).toMatchObject({ configPath: path });
  });

  it("reports an invalid setting of a service, and does not start", async () => {
    const { status, stderr } = await installed.gatehouse(["gateway"], { GATEHOUSE_GATEWAY_PUBLIC_PORT: "none" });
    expect(status).toBe(1);
    expect(stderr).toContain("GATEHOUSE_GATEWAY_PUBLIC_PORT");
  });

  it("starts the whole stack, and buys one request", () => expectSale(installed));

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
    `rejects an old Node in one line${old === undefined ? " (skipped: no old Node on PATH)" : ""}`,
    async () => {
      const { status, stdout, stderr } = await installed.run(old!, [inPackage("cli/gatehouse.js"), "sidecar"]);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toMatch(
        new RegExp(`^gatehouse: this is Node .*; Gatehouse needs Node ${nodeNeeded} or later\\. .*\\n$`),
      );
    },
  );
});

/** Every specifier that a file imports, according to TypeScript. */
function importsIn(code: string): readonly string[] {
  return preProcessFile(code).importedFiles.map(({ fileName }) => fileName);
}

function inPackage(path: string): string {
  return join(installed.directory, path);
}

/** The package that a specifier refers to. */
function packageOf(name: string): string {
  return name.split("/", name.startsWith("@") ? 2 : 1).join("/");
}
