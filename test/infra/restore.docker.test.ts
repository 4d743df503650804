import { hash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "tar";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { tokenAddress } from "#devnet/token/address.ts";
import type { PolicyResource } from "#policies/rule.ts";
import { readContainerInputs } from "../support/engine/container-body.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { createContainer } from "../support/engine/create-container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { runOnEngine, type EngineStack } from "../support/engine/engine-stack.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { until } from "#daemon/testing/until.ts";
import { listDeployedResources } from "./deployed-resources.ts";
import { buildTestImages, testNodeUser } from "./test-images.ts";

const found = await findEngine();
/** At the server's speed, this download takes twelve seconds; progress is reported every ten seconds. */
const payload = randomBytes(12_000_000);
const bytesPerSecond = 1_000_000;
const serverPort = 8_080;
const nodeConf = "conf/node.conf";
let directory = "";
let sha256 = "";

/** Containers that prepare a real node's workspace, and a snapshot server on their external network. */
type Preparation = AsyncDisposable &
  Readonly<{ prefix: string; stack: EngineStack; resources: readonly PolicyResource[] }>;

async function prepare(checksum: string): Promise<Preparation> {
  if (!found.ok) throw new Error(found.message);
  const images = await buildTestImages(inject("testImagesName"), found.nodeImage);
  const prefix = createUniqueName("restore");
  const config = {
    dockerEngine: found.url,
    tokenAddress,
    signerPrivateKey: `0x${"17".repeat(32)}`,
    payTo: `0x${"01".repeat(20)}`,
    gatehouseImage: images.gatehouse,
    // Any image, because its container is only created, not started. It runs as a different user than Gatehouse, and has the old layout.
    nodeImage: found.nodeImage,
    nodeUser: String(testNodeUser),
    nodeVersion: "0.10.3",
    hostIp: "203.0.113.10",
    restore: JSON.stringify({ url: `http://snapshots:${serverPort}/chain.tar?signature=hush`, sha256: checksum }),
  };
  const resources = await listDeployedResources(config, prefix);
  const first = new Set(
    ["edge", "node-workspace", "node-image-bin", "node-bin", "node-prime"].map((part) => `${prefix}-${part}`),
  );
  const stack = await runOnEngine(
    resources.filter(({ type, name }) => type.startsWith("docker:") && first.has(name)),
    { url: found.url, prefix },
  );
  const program = ["node", "/server/archive-server.mjs", "/srv/chain.tar", String(serverPort), String(bytesPerSecond)];
  const mounts = ["--volume", `${directory}:/srv:ro`, "--volume", `${import.meta.dirname}:/server:ro`];
  const network = ["--network", `${prefix}-edge`, "--network-alias", "snapshots"];
  const labels = ["--label", `io.gatehouse.stack=${prefix}`];
  await runDocker(
    "run",
    "--detach",
    "--name",
    `${prefix}-snapshots`,
    ...labels,
    ...network,
    ...mounts,
    found.nodeImage,
    ...program,
  );
  return { prefix, stack, resources, [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose]() };
}

/** Creates one of the preparing containers, in place of an earlier one, and starts it; `end` waits for its exit. */
async function start({ prefix, stack, resources }: Preparation, step: "restore" | "conf") {
  const name = `${prefix}-node-${step}`;
  const made = resources.find((resource) => resource.name === name && resource.type.endsWith(":Container"));
  await runDocker("rm", "--force", name).catch(() => "");
  await createContainer(stack.api, readContainerInputs(made?.props ?? {}));
  await runDocker("start", name);
  return {
    name,
    end: async () => Number(await runDocker("wait", name)),
    printed: async () => (await stack.api.read(`/containers/${name}/logs?stdout=true&stderr=true`)).toString(),
  };
}

/** Returns the ranges requested from the snapshot server. */
const asked = async ({ prefix }: Preparation) =>
  (await runDocker("logs", `${prefix}-snapshots`)).split("\n").filter((line) => line.startsWith("requested"));

/** Lists every file and directory of the workspace's volume with its owner, as seen by root. */
async function filesOf({ prefix }: Preparation): Promise<readonly string[]> {
  if (!found.ok) return [];
  const list = ["find", "/data", "-mindepth", "1", "-printf", "%u:%g %P\\n"];
  const printed = await runDocker(
    "run",
    "--rm",
    "--volume",
    `${prefix}-node-workspace:/data`,
    found.nodeImage,
    ...list,
  );
  return printed
    .split("\n")
    .filter((line) => line !== "")
    .toSorted();
}

const contentOf = ({ prefix }: Preparation, command: readonly string[]) =>
  runDocker(
    "run",
    "--rm",
    "--volume",
    `${prefix}-node-workspace:/data:ro`,
    found.ok ? found.nodeImage : "",
    ...command,
  );

describe.skipIf(!found.ok)(`a restore of chain data on a real engine${skipReason(found)}`, () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "gatehouse-snapshot-"));
    await writeFile(join(directory, "blocks"), payload);
    await create({ cwd: directory, file: join(directory, "chain.tar") }, ["blocks"]);
    sha256 = hash("sha256", await readFile(join(directory, "chain.tar")));
    if (found.ok) await buildTestImages(inject("testImagesName"), found.nodeImage);
  }, 900_000);

  afterAll(() => rm(directory, { recursive: true }));

  test("resumes after kill -9, reports progress, and restores only once", async () => {
    await using place = await prepare(sha256);
    const killed = await start(place, "restore");
    await until("part of it is downloaded", 60_000, async () => /download: .* \(\d/.test(await killed.printed()));
    await runDocker("kill", "--signal", "KILL", killed.name);
    expect(await killed.end()).toBe(137);
    expect((await filesOf(place)).filter((line) => / data(\/|$)/.test(line))).toEqual([]);

    const resumed = await start(place, "restore");
    expect(await resumed.end(), await resumed.printed()).toBe(0);
    const [first, second, ...others] = await asked(place);
    expect([first, others]).toEqual(["requested whole", []]);
    const from = Number(/bytes=(\d+)-$/.exec(second ?? "")?.[1]);
    expect(from).toBeGreaterThan(0);
    expect(await resumed.printed()).not.toContain("hush");
    const [sum = ""] = (await contentOf(place, ["sha256sum", "/data/data/blocks"])).split(" ");
    expect(sum).toBe(hash("sha256", payload));
    expect(await filesOf(place)).toContain(`${testNodeUser}:10001 data/blocks`);

    await runDocker("start", resumed.name);
    expect(await resumed.end()).toBe(0);
    expect(await resumed.printed()).toContain("was already restored at");
    expect(await asked(place)).toHaveLength(2);
  });

  test("leaves no data after a checksum mismatch, and reports both checksums", async () => {
    await using place = await prepare("0".repeat(64));
    const rejected = await start(place, "restore");
    expect(await rejected.end()).toBe(1);
    expect(await rejected.printed()).toContain(
      `has the SHA-256 ${sha256}, expected ${"0".repeat(64)}; nothing was unpacked.`,
    );
    expect((await filesOf(place)).filter((line) => /data|blocks|archive/.test(line))).toEqual([]);
  });

  test("is followed by the first node.conf of the node's version, which is never overwritten", async () => {
    await using place = await prepare(sha256);
    const seeded = await start(place, "conf");
    expect(await seeded.end(), await seeded.printed()).toBe(0);
    expect(await filesOf(place)).toContain(`${testNodeUser}:10001 ${nodeConf}`);
    const written = await contentOf(place, ["cat", `/data/${nodeConf}`]);
    expect(JSON.parse(written)).toMatchObject({
      chain: { startup_config: { init_config: { host_ip: "203.0.113.10" } } },
    });
    expect(written).toContain("pamir_cetina_push_address");
    const again = await start(place, "conf");
    expect([await again.end(), await again.printed()]).toEqual([0, expect.stringContaining("exists; left unchanged")]);
    expect(await contentOf(place, ["cat", `/data/${nodeConf}`])).toBe(written);
  });
});
