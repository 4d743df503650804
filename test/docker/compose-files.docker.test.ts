import { chown, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { buildTestImages, type TestImages } from "../infra/test-images.ts";
import { root } from "../style/rooms.ts";
import { callRpc } from "../support/call-rpc.ts";
import { composeCommands, startComposeFile, type ComposeProject } from "../support/engine/compose-project.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { freePorts } from "#daemon/testing/free-ports.ts";
import { readBalance, createClientFetch, payee } from "../support/paying.ts";
import { until } from "../support/until.ts";

const found = await findEngine();
const socket = found.ok && found.url.startsWith("unix://") ? found.url.slice("unix://".length) : undefined;
const [command] = socket === undefined ? [] : await composeCommands();
const noCompose =
  found.ok && command === undefined ? " (skipped: no compose, or no socket; install docker-compose)" : "";
const healthyWithinMs = 180_000;
const nodeUser = process.getuid?.() === 0 ? 10_001 : (process.getuid?.() ?? 10_001);

let images: TestImages;

/** What both files ask for; ports that are free now. */
async function variables(prefix: string) {
  const [gateway = 0, status = 0, shop = 0] = await freePorts(3);
  const env = {
    COMPOSE_PROJECT_NAME: prefix,
    GATEHOUSE_PREFIX: prefix,
    GATEHOUSE_IMAGE: images.gatehouse,
    DEVNET_IMAGE: images.devnet,
    DOCKER_SOCKET: socket ?? "",
    DOCKER_GROUP: String((await stat(socket ?? "")).gid),
    GATEWAY_ADDRESS: `127.0.0.1:${gateway}`,
    STATUS_ADDRESS: `127.0.0.1:${status}`,
    SHOP_ADDRESS: `127.0.0.1:${shop}`,
  };
  const urls = Object.fromEntries(
    Object.entries({ gateway, status, shop }).map(([name, port]) => [name, `http://127.0.0.1:${port}`]),
  ) as Record<"gateway" | "status" | "shop", string>;
  return { env, urls };
}

const file = (name: string) => join(root, "examples/compose", name, "compose.yaml");

async function healthy(project: ComposeProject, services: readonly string[]): Promise<void> {
  for (const service of services) {
    await until(`${service} is healthy`, healthyWithinMs, async () => {
      return (await project.inspect(service, "{{.State.Health.Status}}")) === "healthy";
    }).catch(async (error: unknown) => {
      throw new Error(`${String(error)}; it said:\n${(await project.logs(service)).slice(-2_000)}`);
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

/** A node in its own container, its workspace a directory of this machine. */
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

type Status = Readonly<{ conditions: readonly Readonly<{ type: string; status: string; reason: string }>[] }>;

describe.skipIf(command === undefined)(`the compose files of examples/compose${skipReason(found)}${noCompose}`, () => {
  beforeAll(async () => {
    if (found.ok) images = await buildTestImages(inject("testImagesName"), found.nodeImage);
  }, 900_000);

  test("devnet: everything comes up confined, and sells to a fetch and to the client of the file", async () => {
    const { env, urls } = await variables(createUniqueName("compose"));
    await using project = await startComposeFile(command!, file("devnet"), env);
    // At once, as the page says: the customer waits for the shop.
    await project.compose("run", "--rm", "client");
    const onGatehouse = ["engine-proxy", "sidecar", "facilitator", "resource-server"];
    const services = ["node", "pushgateway", "upstream", ...onGatehouse];
    await healthy(project, services);
    await confined(project, services, "10001:10001");
    // The first sale was the client's above.
    const before = await readBalance(urls.gateway, payee.address);
    const answer = await createClientFetch()(`${urls.shop}/data`);
    expect(answer.status).toBe(200);
    await project.compose("run", "--rm", "client");
    expect((await readBalance(urls.gateway, payee.address)) - before).toBe(20_000n);
    const page = await fetch(urls.status);
    expect(page.status).toBe(200);
    const runbook = await fetch(`${urls.status}/runbooks/node-down.md`, { headers: { Accept: "text/html" } });
    expect(await runbook.text()).toContain('<h1 id="the-node-is-down">');
    // Its own node, made a moment ago: acted on without a word from a person, through the proxy.
    await condition(urls.status, "AutoPruneOn", "On");
  }, 900_000);

  test("own-node: the gateway answers at once, and nothing is done at the node before a person agrees", async () => {
    await using node = await nodeOfOnesOwn();
    const { env, urls } = await variables(createUniqueName("compose"));
    const own = { NODE_CONTAINER: node.name, NODE_NETWORK: node.name, NODE_WORKSPACE: node.workspace };
    await until("the node has its node.conf", healthyWithinMs, async () => {
      return (await stat(join(node.workspace, "bin/node.conf"))).isFile();
    });
    const startedAt = await node.startedAt();
    const all = { ...env, ...own, NODE_USER: String(nodeUser) };
    await using project = await startComposeFile(command!, file("own-node"), all);
    await healthy(project, ["engine-proxy", "sidecar"]);
    await confined(project, ["engine-proxy"], "10001:10001");
    await confined(project, ["sidecar"], `${nodeUser}:10001`);
    expect(await callRpc(urls.gateway, "eth_chainId", [])).toMatchObject({ result: "0x688" });
    await condition(urls.status, "Adopted", "WaitingForAdopt");
    expect(await node.startedAt()).toBe(startedAt);
    const gatehouse = ["exec", "-T", "sidecar", "node", "/app/cli/gatehouse.js"];
    await project.compose(...gatehouse, "adopt", "--yes");
    await condition(urls.status, "AutoPruneOn", "On");
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
