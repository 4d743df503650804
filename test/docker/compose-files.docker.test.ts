import { execFile } from "node:child_process";
import { chown, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { buildTestImages, type TestImages } from "../infra/test-images.ts";
import { root } from "../style/rooms.ts";
import { callRpc } from "../support/call-rpc.ts";
import { composeCommands, startComposeFile, type ComposeProject } from "../support/engine/compose-project.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { readBalance, createClientFetch, payee } from "../support/payments/paying.ts";
import { until } from "#daemon/testing/until.ts";

const found = await findEngine();
const socket = found.ok && found.url.startsWith("unix://") ? found.url.slice("unix://".length) : undefined;
const [command] = socket === undefined ? [] : await composeCommands();
const noCompose =
  found.ok && command === undefined ? " (skipped: no compose, or no socket; install docker-compose)" : "";
const healthyWithinMs = 180_000;
const assetOfDevnet = "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2";
const nodeUser = process.getuid?.() === 0 ? 10_001 : (process.getuid?.() ?? 10_001);

const run = promisify(execFile);

let images: TestImages;

/** Builds the variables that both files require, with unused ports. */
async function buildVariables(prefix: string) {
  const [gateway = 0, status = 0, shop = 0, sales = 0] = await findFreePorts(4);
  const env = {
    COMPOSE_PROJECT_NAME: prefix,
    GATEHOUSE_PREFIX: prefix,
    GATEHOUSE_IMAGE: images.gatehouse,
    DEVNET_IMAGE: images.devnet,
    DOCKER_SOCKET: socket ?? "",
    GATEWAY_ADDRESS: `127.0.0.1:${gateway}`,
    STATUS_ADDRESS: `127.0.0.1:${status}`,
    SHOP_ADDRESS: `127.0.0.1:${shop}`,
    SALES_ADDRESS: `127.0.0.1:${sales}`,
  };
  const urls = Object.fromEntries(
    Object.entries({ gateway, status, shop }).map(([name, port]) => [name, `http://127.0.0.1:${port}`]),
  ) as Record<"gateway" | "status" | "shop", string>;
  return { env, urls };
}

/** Copies a directory of examples/compose, with the values in `.env` that docs/compose.md requires. */
async function copyExample(name: string) {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-example-"));
  await cp(join(root, "examples/compose", name), directory, {
    recursive: true,
    filter: (path) => !path.endsWith(".env"),
  });
  await writeFile(join(directory, ".env"), `DOCKER_GROUP=${(await stat(socket ?? "")).gid}\n`);
  return {
    file: join(directory, "compose.yaml"),
    directory,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
}

/** The line that docs/compose.md adds to the routes file. */
async function readRouteOfThePage(): Promise<string> {
  const page = await readFile(join(root, "docs/compose.md"), "utf8");
  const [, route = ""] = /```json5\n([^`]+)```/.exec(page) ?? [];
  expect(route).toContain("GET /report");
  return route;
}

/** A clone of the current checkout, and a PATH as on a machine with git and Docker, but without Node and npm. */
async function cloneWithDockerAlone() {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-clone-"));
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const { stdout } = await run("git", list, { cwd: root, maxBuffer: 16_777_216 });
  const clone = join(directory, "clone");
  for (const path of stdout.split("\0").filter((name) => name !== ""))
    await cp(join(root, path), join(clone, path), { recursive: true });
  const bin = join(directory, "bin");
  await mkdir(bin);
  for (const program of ["sh", "docker", "tar", "dirname", "rm"]) {
    const { stdout: place } = await run("sh", ["-c", `command -v ${program}`]);
    await symlink(place.trim(), join(bin, program));
  }
  return { clone, bin, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
}

async function healthy(project: ComposeProject, services: readonly string[]): Promise<void> {
  for (const service of services) {
    await until(`${service} is healthy`, healthyWithinMs, async () => {
      return (await project.inspect(service, "{{.State.Health.Status}}")) === "healthy";
    }).catch(async (error: unknown) => {
      throw new Error(`${String(error)}; its log:\n${(await project.logs(service)).slice(-2_000)}`);
    });
  }
}

const confinement =
  "{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}} {{.HostConfig.RestartPolicy.Name}}";

async function confined(project: ComposeProject, services: readonly string[], user: string): Promise<void> {
  for (const service of services) {
    const seen = await project.inspect(service, `${confinement} {{.Config.User}}`);
    expect([service, seen]).toEqual([service, `true [ALL] [no-new-privileges:true] unless-stopped ${user}`]);
  }
}

/** A node in its own container, whose workspace is a directory of this machine. */
async function nodeOfOnesOwn() {
  const name = createUniqueName("own-node");
  const workspace = await mkdtemp(join(tmpdir(), "gatehouse-own-node-"));
  if (process.getuid?.() === 0) await chown(workspace, nodeUser, nodeUser);
  await runDocker("network", "create", name);
  const env = {
    GATEHOUSE_DEVNET_WORKSPACE_DIRECTORY: "/data",
    GATEHOUSE_DEVNET_NODE_LISTEN_HOST: "0.0.0.0",
    GATEHOUSE_DEVNET_CHAIN_BLOCK_TIME_SECONDS: "0.5",
  };
  const given = Object.entries(env).map(([key, value]) => `--env=${key}=${value}`);
  const place = [`--network=${name}`, `--user=${nodeUser}:${nodeUser}`, `--volume=${workspace}:/data`, "--init"];
  await runDocker("run", "--detach", `--name=${name}`, ...place, ...given, images.devnet);
  return {
    name,
    workspace,
    startedAt: () => runDocker("inspect", "--format", "{{.State.StartedAt}}", name),
    [Symbol.asyncDispose]: async () => {
      await runDocker("rm", "--force", name);
      await runDocker("network", "rm", name);
      await rm(workspace, { recursive: true });
    },
  };
}

/**
 * Expects that a web page that uses its own name for this machine can't read the status, and that a page of another origin can't call the
 * RPC.
 */
async function closedToPages(urls: Readonly<Record<"gateway" | "status", string>>): Promise<void> {
  const { port } = new URL(urls.status);
  const rebound = await run("curl", ["-sS", "-m", "10", "-H", `Host: rebind.example:${port}`, `${urls.status}/status`]);
  expect(rebound.stdout).toContain(`the host rebind.example:${port} is not allowed`);
  const read = await fetch(urls.gateway, {
    method: "POST",
    headers: { "content-type": "application/json", origin: "http://page.example" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }),
  });
  expect(read.headers.get("access-control-allow-origin")).toBeNull();
}

type Status = Readonly<{ conditions: readonly Readonly<{ type: string; status: string; reason: string }>[] }>;

describe.skipIf(command === undefined)(`the compose files of examples/compose${skipReason(found)}${noCompose}`, () => {
  beforeAll(async () => {
    if (found.ok) images = await buildTestImages(inject("testImagesName"), found.nodeImage);
  }, 900_000);

  test("build.sh builds both images with git and Docker, without Node or npm", async () => {
    await using machine = await cloneWithDockerAlone();
    const name = createUniqueName("from-clone");
    const built = { GATEHOUSE_IMAGE: `${name}:gatehouse`, DEVNET_IMAGE: `${name}:devnet` };
    const base = process.env["GATEHOUSE_TEST_BUILD_IMAGE"];
    const env = {
      PATH: machine.bin,
      HOME: machine.clone,
      ...(process.env["DOCKER_HOST"] === undefined ? {} : { DOCKER_HOST: process.env["DOCKER_HOST"] }),
      ...(base === undefined ? {} : { BASE_IMAGE: base }),
      ...built,
    };
    const script = ["infra/images/build.sh", "--network", "host"];
    const { stdout } = await run(join(machine.bin, "sh"), script, {
      cwd: machine.clone,
      env,
      timeout: 600_000,
      maxBuffer: 16_777_216,
    });
    try {
      expect(stdout).toContain(`${built.GATEHOUSE_IMAGE} and ${built.DEVNET_IMAGE} are built`);
      for (const image of Object.values(built)) {
        const reported = await runDocker(
          "run",
          "--rm",
          "--network",
          "none",
          "--read-only",
          "--cap-drop",
          "ALL",
          image,
          "--version",
        );
        expect(reported).toMatch(/^\d+\.\d+\.\d+$/);
      }
    } finally {
      await runDocker("image", "rm", ...Object.values(built));
    }
  }, 900_000);

  test("devnet runs confined and sells to fetch and to the bundled client", async () => {
    const { env, urls } = await buildVariables(createUniqueName("compose"));
    await using example = await copyExample("devnet");
    await using project = await startComposeFile(command!, example.file, env);
    // Started immediately, as documented: the client waits for the shop.
    await project.compose("run", "--rm", "client");
    const onGatehouse = ["engine-proxy", "sidecar", "facilitator", "resource-server"];
    const services = ["node", "pushgateway", "upstream", ...onGatehouse];
    await healthy(project, services);
    await confined(project, services, "10001:10001");
    // The client above has bought first, so this is the second sale.
    const balanceBefore = await readBalance(urls.gateway, payee.address);
    const response = await createClientFetch()(`${urls.shop}/data`);
    expect(response.status).toBe(200);
    await project.compose("run", "--rm", "client");
    expect((await readBalance(urls.gateway, payee.address)) - balanceBefore).toBe(20_000n);
    const routes = join(example.directory, "routes/routes.json5");
    await writeFile(routes, (await readFile(routes, "utf8")).replace(/\}\s*$/, `${await readRouteOfThePage()}}\n`));
    await until("the new route is sold", healthyWithinMs, async () => {
      return (await fetch(`${urls.shop}/report`)).status === 402;
    });
    const report = ["http://resource-server:4021/report", "--max-amount", "0.05", "--asset", assetOfDevnet];
    expect(await project.compose("run", "--rm", "client", "pay", ...report)).toContain("what the client paid for");
    expect((await readBalance(urls.gateway, payee.address)) - balanceBefore).toBe(40_000n);
    const page = await fetch(urls.status);
    expect(page.status).toBe(200);
    const runbook = await fetch(`${urls.status}/runbooks/node-down.md`);
    expect(await runbook.text()).toMatch(/^# The node is down\n/);
    await closedToPages(urls);
    // The stack has just created its own node: the sidecar acts on it without approval, through the proxy.
    await condition(urls.status, "Pruning", "Enabled");
  }, 900_000);

  test("own-node serves RPC at once, and leaves the node unchanged until adopted", async () => {
    await using node = await nodeOfOnesOwn();
    const { env, urls } = await buildVariables(createUniqueName("compose"));
    const own = { NODE_CONTAINER: node.name, NODE_NETWORK: node.name, NODE_WORKSPACE: node.workspace };
    await until("the node has its node.conf", healthyWithinMs, async () => {
      return (await stat(join(node.workspace, "bin/node.conf"))).isFile();
    });
    const startedAt = await node.startedAt();
    const all = { ...env, ...own, NODE_USER: String(nodeUser) };
    await using example = await copyExample("own-node");
    await using project = await startComposeFile(command!, example.file, all);
    await healthy(project, ["engine-proxy", "sidecar"]);
    await confined(project, ["engine-proxy"], "10001:10001");
    await confined(project, ["sidecar"], `${nodeUser}:10001`);
    expect(await callRpc(urls.gateway, "eth_chainId", [])).toMatchObject({ result: "0x688" });
    await condition(urls.status, "NotPaused", "WaitingForApproval");
    await closedToPages(urls);
    expect(await node.startedAt()).toBe(startedAt);
    const gatehouse = ["exec", "-T", "sidecar", "node", "/app/cli/gatehouse.js"];
    await project.compose(...gatehouse, "adopt", "--yes");
    await condition(urls.status, "Pruning", "Enabled");
  }, 900_000);
});

async function condition(status: string, type: string, reason: string): Promise<void> {
  let seen: unknown;
  await until(`${type} is ${reason}`, healthyWithinMs, async () => {
    const { conditions } = (await (await fetch(`${status}/status`)).json()) as Status;
    seen = conditions.find((entry) => entry.type === type);
    return conditions.some((entry) => entry.type === type && entry.reason === reason);
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; last seen: ${JSON.stringify(seen)}`);
  });
}
