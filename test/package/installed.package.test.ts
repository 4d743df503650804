import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { preProcessFile } from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { driftedConfig } from "#sidecar/testing/fake-node.ts";
import packageJson from "../../package.json" with { type: "json" };
import { nodeNeeded, oldNode } from "../support/old-node.ts";
import { stackPorts } from "../support/running-stack.ts";
import { root } from "../style/rooms.ts";
import { directoryBytes, installedBytes } from "./installed-size.ts";
import { installPackage, type InstalledPackage } from "./installed-package.ts";

const megabytes = 1_000_000;
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage();
}, 600_000);
afterAll(() => installed[Symbol.asyncDispose]());

/** The package's own files that match, as paths in it. */
const files = (pattern: string) => globSync(pattern, { cwd: installed.directory });

describe("what is packed", () => {
  it("is small, compiled, and free of tests and sources", () => {
    expect(installed.unpackedBytes).toBeLessThanOrEqual(5 * megabytes);
    const paths = installed.files.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(["LICENSE", "README.md", "cli/gatehouse.js", "dist/cli/launch.js"]));
    expect(paths.filter((path) => /\.test\.|(^|\/)(testing|test)\//.test(path))).toEqual([]);
    expect(paths.filter((path) => /(?<!\.d)\.m?ts$/.test(path))).toEqual([]);
  });

  it("has a source map for every compiled file, and declarations for every export", () => {
    const compiled = files("dist/**/*.js").filter((path) =>
      readFileSync(inPackage(path), "utf8").includes("sourceMappingURL"),
    );
    expect(compiled.length).toBeGreaterThan(500);
    expect(compiled.filter((path) => !existsSync(inPackage(`${path}.map`)))).toEqual([]);
    const exported = Object.values(packageJson.exports).filter((path) => path.endsWith(".js"));
    expect(exported.filter((path) => !existsSync(inPackage(path.replace(/\.js$/, ".d.ts"))))).toEqual([]);
  });

  it("imports nothing but its own files, Node, its dependencies and its optional peers", () => {
    const allowed = new Set([
      ...Object.keys(packageJson.dependencies),
      ...Object.keys(packageJson.peerDependencies),
      ...builtinModules,
    ]);
    const foreign = files("dist/**/*.{js,mjs,d.ts}").flatMap((path) => {
      return importsIn(readFileSync(inPackage(path), "utf8"))
        .filter((name) => !/^(?:[.#]|node:)/.test(name) && !allowed.has(packageOf(name)))
        .map((name) => `${path} imports ${name}`);
    });
    expect(foreign).toEqual([]);
  });
});

describe("what is installed", () => {
  it("takes no more room than docs/dependencies.md says", () => {
    const page = readFileSync(join(root, "docs/dependencies.md"), "utf8");
    const told = Number(/\*\*\d+ packages, (\d+) MB\*\*/.exec(page)?.[1]) * megabytes;
    const measured = installedBytes(installed.directory) - directoryBytes(installed.directory);
    process.stdout.write(`installed without optional packages and peers: ${(measured / megabytes).toFixed(1)} MB\n`);
    expect(measured).toBeLessThanOrEqual(told * 1.05);
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

  it("brings up the whole stack, and buys one request", async () => {
    const { env } = await stackPorts();
    const state = join(installed.folder, "state");
    const stack = await installed.gatehouse(["stack", "--once", "--state-dir", state], env);
    expect(stack, stack.stdout).toMatchObject({ status: 0 });
    expect(stack.stdout).toMatch(/by transaction 0x[0-9a-f]{64}/);
    expect(stack.stdout).toContain("0.01 USDC more");
  });

  const old = oldNode();
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
  const strict = ["--noEmit", "--strict", "--skipLibCheck", "false", "--exactOptionalPropertyTypes"];
  const compile = async (file: string, ...more: readonly string[]) => {
    const compiler = join(installed.folder, "node_modules/.bin/tsc");
    const { stdout } = await installed.run(compiler, [
      ...strict,
      "--target",
      "es2024",
      "--types",
      "node",
      ...more,
      file,
    ]);
    return stdout.split("\n").filter((line) => line !== "");
  };

  it("compiles for a strict consumer of every export", async () => {
    const told = await compile("every-export.mts", "--module", "nodenext");
    // The declarations of Pulumi's policy SDK name two things that it does not declare; whoever uses it sees that without Gatehouse, too.
    expect(told.filter((line) => !line.startsWith("node_modules/@pulumi/policy/index.d.ts"))).toEqual([]);
  });

  it("compiles for a strict consumer that resolves as a bundler does, or as Node 16 did", async () => {
    expect(await compile("without-pulumi.mts", "--module", "esnext", "--moduleResolution", "bundler")).toEqual([]);
    const told = await compile("without-pulumi.mts", "--module", "node16", "--moduleResolution", "node16");
    // viem's own declarations require ES modules there, which that setting knows nothing of.
    expect(told.filter((line) => !/^node_modules\/(?:viem|ox)\/.*TS(?:1479|154[12]):/.test(line))).toEqual([]);
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
      cwd: inPackage("dist/policies"),
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
