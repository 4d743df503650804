import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import type { PolicyResource } from "#policies/rule.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { runOnEngine, type EngineStack } from "../support/engine/engine-stack.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { listDeployedResources } from "./deployed-resources.ts";
import { buildEntryPointImage, buildGatehouseImage } from "./test-images.ts";

const found = await findEngine();
const prefix = createUniqueName("entry");
const node = `${prefix}-node`;
const parts = new Set(["edge", "private", "node", "node-conf", "node-files"].map((part) => `${prefix}-${part}`));
const own = { domainKey: "the-domain-key", stabilizingKey: "the-stabilizing-key", nodeForks: "of the stack" };
let stack: EngineStack | undefined;
let peerPort = 0;

async function listResources(more: Readonly<Record<string, string>>): Promise<readonly PolicyResource[]> {
  if (!found.ok) throw new Error(found.message);
  const name = inject("testImagesName");
  const all = await listDeployedResources(
    {
      dockerEngine: found.url,
      tokenAddress,
      signerPrivateKey: `0x${"17".repeat(32)}`,
      payTo: `0x${"01".repeat(20)}`,
      gatehouseImage: await buildGatehouseImage(name, found.nodeImage),
      nodeImage: await buildEntryPointImage(name, found.nodeImage),
      nodeFamily: "pharos",
      nodeVersion: "0.12.2",
      nodeKeysPassword: "the password",
      nodeGenesis: "the genesis\n",
      nodeUlimits: '{"nofile": 4096}',
      hostIp: "203.0.113.10",
      peerPort: String(peerPort),
      limits: JSON.stringify({ node: { cpus: 1, memoryMebibytes: 256 } }),
      ...more,
    },
    prefix,
  );
  return all.filter(({ type, name: one }) =>
    type === "docker:index/volume:Volume"
      ? one.startsWith(`${prefix}-node-`)
      : type.startsWith("docker:") && parts.has(one),
  );
}

async function start(more: Readonly<Record<string, string>>): Promise<EngineStack> {
  if (!found.ok) throw new Error(found.message);
  stack = await runOnEngine(await listResources(more), { url: found.url, prefix });
  return stack;
}

const read = (path: string) => runDocker("exec", node, "cat", path);
const hasStarts = (count: number) =>
  until(`the node has started ${count} times`, generousMs, async () => {
    const starts = await read("/data/data/starts").catch(() => "");
    return starts.trim().split("\n").filter(Boolean).length === count;
  });

describe.skipIf(!found.ok)(`an image with an entry point on a real engine${skipReason(found)}`, () => {
  beforeAll(async () => {
    [peerPort = 0] = await findFreePorts(1);
  }, 1_200_000);

  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
  });

  test(
    "starts fully hardened, with its own keys and the stack's fork schedule, and runs genesis only once",
    { timeout: 900_000 },
    async () => {
      await start(own);
      await hasStarts(1);
      expect((await read("/data/data/starts")).trim()).toBe("the-domain-key 4096");
      expect((await read("/data/data/genesis")).trim()).toBe("the genesis\nof the stack");
      await runDocker("restart", node);
      await hasStarts(2);
      expect((await read("/data/data/genesis")).trim()).toBe("the genesis\nof the stack");
      expect((await read("/data/bin/VERSION")).trim()).toBe("of the stack");
      const [about] = JSON.parse(await runDocker("inspect", node)) as [{ HostConfig: object; Config: object }];
      expect(about).toMatchObject({
        HostConfig: { ReadonlyRootfs: true, CapDrop: ["ALL"] },
        Config: { User: "1000:10001" },
      });
    },
  );

  test("does not start without a key: its preparation exits with status 1", { timeout: 900_000 }, async () => {
    await stack?.[Symbol.asyncDispose]();
    stack = undefined;
    const { stabilizingKey: _, ...incomplete } = own;
    await expect(start(incomplete)).rejects.toThrow(`${prefix}-node-conf ended with 1`);
  });
});
