import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import type { PolicyResource } from "#policies/rule.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { runOnEngine, type EngineStack } from "../support/engine/engine-stack.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { listDeployedResources } from "./deployed-resources.ts";
import { buildGatehouseImage, buildNodeImage, testNodeUser } from "./test-images.ts";

const found = await findEngine();
const keys = { domainKey: "the-domain-key", stabilizingKey: "the-stabilizing-key" };
const prefix = createUniqueName("upgrade");
const node = `${prefix}-node`;
const conf = "/data/conf/node.conf";
/** The containers of a node, without those that manage it. */
const parts = new Set(
  ["edge", "private", "node", "node-prime", "node-conf", "node-files"].map((part) => `${prefix}-${part}`),
);
let stack: EngineStack;
let peerPort = 0;

async function resourcesOf(version: string): Promise<readonly PolicyResource[]> {
  if (!found.ok) throw new Error(found.message);
  const name = inject("testImagesName");
  const config = {
    dockerEngine: found.url,
    tokenAddress,
    signerPrivateKey: `0x${"17".repeat(32)}`,
    payTo: `0x${"01".repeat(20)}`,
    gatehouseImage: await buildGatehouseImage(name, found.nodeImage),
    nodeImage: await buildNodeImage(name, found.nodeImage, version),
    nodeUser: String(testNodeUser),
    nodeVersion: version,
    hostIp: "203.0.113.10",
    peerPort: String(peerPort),
    limits: JSON.stringify({ node: { cpus: 1, memoryMebibytes: 256 } }),
    ...keys,
  };
  const all = await listDeployedResources(config, prefix);

  return all.filter(({ type, name: name_ }) =>
    type === "docker:index/volume:Volume"
      ? name_.startsWith(`${prefix}-node-`)
      : type.startsWith("docker:") && parts.has(name_),
  );
}

/** Replaces the running node with one of the given version, as `pulumi up` does for containers with changed arguments. */
async function upgradeTo(version: string): Promise<void> {
  const resources = await resourcesOf(version);
  const containers = resources.filter(({ type }) => type.endsWith(":Container")).map(({ name }) => name);
  for (const name of containers) await runDocker("rm", "--force", name);
  if (!found.ok) return;
  const made = resources.filter(({ type }) => !type.endsWith(":Network"));
  stack = await runOnEngine(made, { url: found.url, prefix });
}

const run = (...command: readonly string[]) => stack.api.run(node, command);
const starts = async () => (await run("cat", "/data/data/starts")).trim().split("\n");
const started = (version: string) =>
  until(`the node of version ${version} has started`, generousMs, async () =>
    (await starts()).at(-1)?.startsWith(version),
  );

describe.skipIf(!found.ok)(`a real node on a real engine${skipReason(found)}`, () => {
  beforeAll(async () => {
    if (!found.ok) throw new Error(found.message);
    [peerPort = 0] = await findFreePorts(1);
    stack = await runOnEngine(await resourcesOf("0.16.2"), { url: found.url, prefix });
    await started("0.16.2");
  }, 1_200_000);

  afterAll(() => stack?.[Symbol.asyncDispose]());

  test("runs its image's binaries, with node.conf linked beside them and keys as separate files", async () => {
    expect(await run("./node_cli")).toBe("node_cli 0.16.2\n");
    expect(await run("readlink", "node.conf")).toBe(`${conf}\n`);
    expect(await starts()).toEqual([`0.16.2 ${keys.domainKey} ${keys.stabilizingKey}`]);
    const modes = await run("stat", "--format", "%a %u %n", "/data/keys/domain.key", "/data/keys/stabilizing.key");
    expect(modes).toBe("400 1000 /data/keys/domain.key\n400 1000 /data/keys/stabilizing.key\n");
  });

  test("never exposes its keys in a container inspection", async () => {
    const ids = (await runDocker("ps", "--all", "--quiet", "--filter", `label=io.gatehouse.stack=${prefix}`)).split(
      "\n",
    );
    expect(ids).toHaveLength(4);
    const inspected = await runDocker("inspect", ...ids);
    for (const key of Object.values(keys)) expect(inspected).not.toContain(key);
  });

  test("runs the new image's binaries after an upgrade, and keeps node.conf and data", async () => {
    const edited = `const fs = require("fs"); const conf = JSON.parse(fs.readFileSync("${conf}", "utf8")); conf.chain.edited_by = "the sidecar";
      fs.writeFileSync("${conf}.new", JSON.stringify(conf)); fs.renameSync("${conf}.new", "${conf}");`;
    await run("node", "-e", edited);
    expect(await run("ls", "/data/bin")).toContain("only-in-0.16.2");
    await upgradeTo("0.17.0");
    await started("0.17.0");
    expect(await run("./node_cli")).toBe("node_cli 0.17.0\n");
    const programs = await run("ls", "/data/bin");
    expect([programs.includes("only-in-0.17.0"), programs.includes("only-in-0.16.2")]).toEqual([true, false]);
    expect(JSON.parse(await run("cat", "node.conf"))).toMatchObject({ chain: { edited_by: "the sidecar" } });
    expect((await starts()).map((line) => line.split(" ")[0])).toEqual(["0.16.2", "0.17.0"]);
  });
});
