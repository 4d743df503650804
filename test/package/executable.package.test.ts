import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import { readUntil } from "#daemon/testing/until.ts";
import packageJson from "../../package.json" with { type: "json" };
import { startBareAnvil } from "../support/node/bare-anvil.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { startService } from "../support/service-process.ts";
import { root } from "../style/rooms.ts";
import { makeArtifacts } from "./artifacts.ts";
import { expectRunbooks, startGuardingSidecar } from "./guarding-sidecar.ts";

const run = promisify(execFile);
const megabytes = 1_000_000;
const name = `gatehouse-${packageJson.version}-${process.platform}-${process.arch}`;

/** A host without Node: an empty working directory, and a release archive. */
let folder: string;
let empty: string;
let artifacts: string;
let program: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-executable-")));
  empty = join(folder, "empty");
  await mkdir(empty);
  artifacts = (await makeArtifacts(inject("artifactsDirectory"))).directory;
  const archive = join(artifacts, `${name}.tar.gz`);
  await run("tar", ["--extract", "--gzip", "--file", archive], { cwd: folder, timeout: 60_000 });
  program = join(folder, name, "gatehouse");
}, 1_200_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Inherits nothing from this process's environment: no PATH, no HOME, no Node variables. */
const alone = { PATH: "" } as const;

async function gatehouse(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  try {
    const printed = await run(program, [...args], { cwd: empty, env: { ...alone, ...env }, timeout: 100_000 });
    return { status: 0, ...printed };
  } catch (error) {
    const { code, stdout, stderr } = error as Readonly<{ code?: unknown; stdout: string; stderr: string }>;
    if (typeof code !== "number") throw error;
    return { status: code, stdout, stderr };
  }
}

it("the executable is one file of at most 70 MB, with its licences and an SBOM that includes Node", async () => {
  expect((await readdir(join(folder, name))).toSorted()).toEqual(["LICENSE", "LICENSES.md", "gatehouse"]);
  const { size } = await stat(join(artifacts, `${name}.tar.gz`));
  process.stdout.write(`the executable's archive: ${(size / megabytes).toFixed(1)} MB\n`);
  expect(size).toBeLessThanOrEqual(70 * megabytes);
  const licences = await readFile(join(folder, name, "LICENSES.md"), "utf8");
  for (const title of ["# viem 2", "# hono 4", `# Node ${process.versions.node}\n`]) expect(licences).toContain(title);
  const sbom = JSON.parse(await readFile(join(artifacts, `${name}.cdx.json`), "utf8")) as { components: unknown };
  expect(sbom.components).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: "node", version: process.versions.node }),
      expect.objectContaining({ name: "viem", version: packageJson.dependencies.viem }),
    ]),
  );
});

it("the executable runs commands without Node, PATH or HOME", async () => {
  expect(await gatehouse(["--version"])).toEqual({ status: 0, stdout: `${packageJson.version}\n`, stderr: "" });
  await writeFile(join(folder, "node.conf"), driftedConfig);
  const plan = await gatehouse(["config", "plan", "--config", join(folder, "node.conf"), "--node-version", "0.16.2"]);
  expect(plan).toMatchObject({ status: 2, stderr: "" });
  expect(plan.stdout).toContain("storage_enable_cetina");
  const lint = await gatehouse(["config", "lint", "--json", join(folder, "node.conf")]);
  expect(lint, lint.stderr).toMatchObject({ status: 2 });
  expect(JSON.parse(lint.stdout)).toMatchObject({ configPath: join(folder, "node.conf") });
  const doctor = await gatehouse(["doctor", "--json"]);
  expect(JSON.parse(doctor.stdout), doctor.stderr).toBeInstanceOf(Object);
});

it.each(["stack", "devnet"])(
  "the executable reports in one line that %s is not included, with a fix",
  async (command) => {
    const { status, stdout, stderr } = await gatehouse([command]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(
      /^\S+: this executable does not include anvil, .*; run it in a clone, or install the npm package .*\n$/,
    );
  },
);

it("the executable runs a sidecar with status page, runbooks and metrics, and exits on SIGTERM", async () => {
  await using node = await createFakeNode();
  await node.start();
  await using sidecar = await startGuardingSidecar(node, { program, folder: empty, env: alone });
  const url = sidecar.urls["sidecar"] ?? "";
  const read = async (path: string) => (await fetch(`${url}${path}`)).text();
  await readUntil(
    async () => (await fetch(`${url}/startupz`)).status,
    (status) => status === 200,
  );
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect(await read("/")).toContain('href="/page/page.css"');
  expect(await read("/page/page.css")).toBe(await readFile(join(root, "status/page/assets/page.css"), "utf8"));
  const status = await gatehouse(["status", "--url", url]);
  expect(status.stdout, status.stderr).toMatch(/^\d+ of \d+ conditions are healthy\.$/m);
  await readUntil(
    () => read("/metrics"),
    (metrics) => metrics.includes('gatehouse_condition{type="RpcResponding"} 1\n'),
  );
  await expectRunbooks(url);
  expect(await sidecar.end("SIGTERM")).toBe(0);
});

it("the executable serves the RPC of any node", async () => {
  const [port = 0] = await findFreePorts(1);
  await using node = await startBareAnvil(port, 31_337);
  const settings = { GATEHOUSE_GATEWAY_NODE_HTTP_URL: node.url, GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "31337" };
  const ports = { GATEHOUSE_GATEWAY_LISTEN_PORT: "0", GATEHOUSE_GATEWAY_PUBLIC_PORT: "0" };
  await using gateway = await startService("gateway", { ...alone, ...settings, ...ports }, { program, cwd: empty });
  const call = { jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] };
  const chainId = await readUntil(
    async () => {
      const headers = { "Content-Type": "application/json" };
      const response = await fetch(gateway.urls["gateway"] ?? "", {
        method: "POST",
        headers,
        body: JSON.stringify(call),
      });
      return (await response.json()) as Readonly<{ result?: string }>;
    },
    ({ result }) => result !== undefined,
  );
  expect(chainId.result).toBe("0x7a69");
  expect(await gateway.end("SIGTERM")).toBe(0);
});
