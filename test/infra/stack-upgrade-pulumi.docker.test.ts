import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { parse } from "yaml";
import { freePorts } from "#daemon/testing/free-ports.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { findRecordPath, readRecord } from "../../cli/stack-upgrade/stack-record.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine } from "../support/engine/find-engine.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { createPulumiStack, type PulumiStack } from "../support/pulumi/pulumi-stack.ts";
import { removeStack } from "../support/pulumi/remove-stack.ts";
import { until } from "../support/until.ts";
import { freeHostPorts } from "./host-ports.ts";
import { waitUntilStackSettles } from "./settled-stack.ts";
import {
  buildChainNodeImage,
  buildGatehouseImage,
  buildPushgatewayImage,
  testNodeUser,
  type ChainNodeBehaviour,
} from "./test-images.ts";

const engine = await findEngine();
const pulumi = await findPulumi("docker");
const lacking = [engine, pulumi].flatMap((found) => (found.ok ? [] : [found.message]));
const skipped = lacking.length === 0 ? "" : ` (skipped: ${lacking.join("; ")})`;
const root = join(import.meta.dirname, "../..");
const name = createUniqueName("up").replace("gatehouse-test-", "");

let stack: PulumiStack;
let state: string;
let statusPort = 0;

const nodeImage = (version: string, behaviour: ChainNodeBehaviour = "good") =>
  buildChainNodeImage(inject("testImagesName"), engine.ok ? engine.nodeImage : "", { version, behaviour });
const read = async (file: string) =>
  (await runDocker("exec", `${stack.prefix}-node`, "cat", `/data/data/${file}`)).split("\n");
const readConfig = async () =>
  (parse(await readFile(stack.configFile, "utf8")) as { config: Record<string, unknown> }).config;

/** The id of the node's container; empty while there is none. */
const readNodeId = () => runDocker("inspect", "--format", "{{.Id}}", `${stack.prefix}-node`).catch(() => "");

/** Kills `pulumi up` alone, as a machine without memory does, once it has made the new node's container. */
async function killUpdate(): Promise<void> {
  const before = await readNodeId();
  await until("pulumi up has made another container", 300_000, async () => {
    const id = await readNodeId();
    return id !== "" && id !== before;
  });
  const { update } = readRecord(findRecordPath(root, name)) ?? {};
  if (update === undefined) throw new Error("no pulumi up was noted");
  process.kill(update.pid, "SIGKILL");
}

/** Types the command as a person does; what it printed, and its exit status. */
async function upgrade(...options: readonly string[]) {
  const words = ["upgrade", "--stack", name, "--cwd", root, "--config-file", stack.configFile, ...options];
  const child = spawn(process.execPath, [join(root, "cli/main.ts"), ...words], {
    env: { ...stack.env, XDG_STATE_HOME: state },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (printed += String(chunk)));
  const [status] = (await once(child, "close")) as [number | null];
  return { status, printed };
}

async function runPulumi(...args: readonly string[]): Promise<string> {
  const { status, output } = await stack.run(...args);
  if (status !== 0) throw new Error(output);
  return output;
}

describe.skipIf(lacking.length > 0)(`an upgrade of a stack by Pulumi itself${skipped}`, { timeout: 900_000 }, () => {
  beforeAll(async () => {
    if (!engine.ok) throw new Error(engine.message);
    state = await mkdtemp(join(tmpdir(), "gatehouse-state-"));
    stack = await createPulumiStack(name);
    const ports = await freeHostPorts();
    const [peerPort = 0] = await freePorts(1);
    ({ statusPort } = ports);
    const images = inject("testImagesName");
    await stack.configure({
      target: "docker",
      dockerEngine: engine.url,
      tokenAddress,
      payTo: `0x${"01".repeat(20)}`,
      gatehouseImage: await buildGatehouseImage(images, engine.nodeImage),
      nodeImage: await nodeImage("0.16.2"),
      nodeUser: testNodeUser,
      nodeVersion: "0.16.2",
      hostIp: "203.0.113.10",
      peerPort,
      limits: { node: { cpus: 1, memoryMebibytes: 256 } },
      pushgatewayImage: await buildPushgatewayImage(images, engine.nodeImage),
      ...ports,
    });
    for (const [key, value] of [
      ["signerPrivateKey", `0x${"17".repeat(32)}`],
      ["domainKey", "the-domain-key"],
      ["stabilizingKey", "the-stabilizing-key"],
    ] as const) {
      await runPulumi("config", "set", "--secret", key, value);
    }
    await runPulumi("up", "--yes", "--skip-preview");
  }, 1_200_000);

  afterAll(async () => {
    await removeStack(stack.prefix);
    await stack[Symbol.asyncDispose]();
    await rm(state, { recursive: true, force: true });
    await rm(join(root, `.gatehouse-upgrade.${name}.json`), { force: true });
  });

  beforeEach(() => waitUntilStackSettles(statusPort), 150_000);

  test("takes a good version's image, proves it, and leaves nothing for Pulumi to do", async () => {
    const before = await read("chain");
    const image = await nodeImage("0.17.0");
    const done = await upgrade("--node-image", image, "--node-version", "0.17.0", "--yes");
    expect(done.printed).toContain(`Proved: ${name} runs 0.17.0`);
    expect(done.status).toBe(0);
    expect((await read("chain")).slice(0, before.length)).toEqual(before);
    expect(await read("starts")).toEqual(["0.16.2", "0.17.0"]);
    expect(await readConfig()).toMatchObject({ "gatehouse:nodeImage": image, "gatehouse:nodeVersion": "0.17.0" });
    expect((await readdir(root)).filter((file) => file === `.gatehouse-upgrade.${name}.json`)).toEqual([]);
    await runPulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
  });

  test("takes everything back after its pulumi up was killed, past the lock that this has left", async () => {
    const before = await read("chain");
    const image = await nodeImage("0.17.3");
    const [done] = await Promise.all([
      upgrade("--node-image", image, "--node-version", "0.17.3", "--yes"),
      killUpdate(),
    ]);
    expect(done.printed).toMatch(/pulumi up --yes ended with SIGKILL/);
    expect(done.printed).toMatch(/The stack is locked by process \d+, a pulumi up of this upgrade that was killed/);
    expect(done.printed).toContain(`Rolled back: ${name} runs 0.17.0`);
    expect(done.status).toBe(1);
    expect((await read("chain")).slice(0, before.length)).toEqual(before);
    expect(await readConfig()).toMatchObject({ "gatehouse:nodeImage": await nodeImage("0.17.0") });
    await runPulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
  });

  test.each([
    ["0.17.1", "corrupts", "its data are others"],
    ["0.17.2", "silent", "pulumi up --yes took longer than 120000 ms"],
  ] as const)("takes back image, data and configuration of a version (%s) that %s", async (version, behaviour, why) => {
    const before = await read("chain");
    const image = await nodeImage(version, behaviour);
    const done = await upgrade("--node-image", image, "--node-version", version, "--update-within", "120", "--yes");
    expect(done.printed).toContain(`Rolled back: ${name} runs 0.17.0`);
    expect(done.printed).toContain(why);
    expect(done.status).toBe(1);
    expect((await read("chain")).slice(0, before.length)).toEqual(before);
    expect(await read("starts")).not.toContain(version);
    expect(await readConfig()).toMatchObject({ "gatehouse:nodeImage": await nodeImage("0.17.0") });
    await runPulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
  });
});
