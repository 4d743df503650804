import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { removeStack } from "../support/pulumi/remove-stack.ts";
import { asConfig, findFreeHostPorts } from "./host-ports.ts";
import { waitUntilStackSettles } from "./settled-stack.ts";
import { buildChainNodeImage, buildGatehouseImage, testNodeUser, type ChainNodeBehaviour } from "./test-images.ts";

const found = await findEngine();
const stack = createUniqueName("up").replace("gatehouse-test-", "");
const prefix = `gatehouse-${stack}`;
const node = `${prefix}-node`;
const program = (path: string) => fileURLToPath(new URL(path, import.meta.url));
let directory: string;

const configPath = () => join(directory, `Pulumi.${stack}.yaml`);
const readConfig = async () => JSON.parse(await readFile(configPath(), "utf8")) as Record<string, string>;
const read = (name: string) => runDocker("exec", node, "cat", `/data/data/${name}`);
const chain = async () => (await read("chain")).split("\n");
const starts = async () => (await read("starts")).split("\n");
const image = (version: string, behaviour: ChainNodeBehaviour = "good") =>
  buildChainNodeImage(inject("testImagesName"), found.ok ? found.nodeImage : "", { version, behaviour });

/** Waits until the stack is ready for an upgrade, which takes a while on a busy machine. */
const waitUntilSettled = async () => waitUntilStackSettles((await readConfig())["statusPort"] ?? "");

/**
 * Variants of running the command: killed with -9 as soon as it prints a given line, with another form of the stack's name, or in another
 * directory.
 */
type Typed = Readonly<{ killAtLine?: string; name?: string; in?: string }>;

/** Runs the command with a fake Pulumi on the PATH. */
async function upgrade(newImage: string, { killAtLine, name = stack, in: programDirectory = directory }: Typed = {}) {
  const unreadyImage = await image("0.17.2", "silent");
  const path = [join(directory, "bin"), process.env["PATH"]].join(delimiter);
  const child = spawn(
    process.execPath,
    [
      program("../support/stack-upgrade-process.main.ts"),
      programDirectory,
      name,
      newImage,
      newImage.split("chain-")[1] ?? "",
    ],
    {
      env: { ...process.env, PATH: path, GATEHOUSE_TEST_UNREADY_IMAGE: unreadyImage },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      if (killAtLine !== undefined && line.includes(killAtLine)) child.kill("SIGKILL");
    });
  }
  const [status, signal] = (await once(child, "close")) as [number | null, string | null];
  return { status, signal, printed: lines.join("\n") };
}

async function pulumi(...args: readonly string[]): Promise<void> {
  const child = spawn(join(directory, "bin/pulumi"), [...args, "--stack", stack, "--config-file", configPath()], {
    cwd: directory,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [status] = (await once(child, "close")) as [number | null];
  expect(status).toBe(0);
}

describe.skipIf(!found.ok)(`a stack upgrade on a real engine${skipReason(found)}`, { timeout: 600_000 }, () => {
  beforeAll(async () => {
    if (!found.ok) throw new Error(found.message);
    directory = await mkdtemp(join(tmpdir(), "gatehouse-program-"));
    await writeFile(join(directory, "deployed.json"), "{}");
    const command = `"${process.execPath}" "${program("../support/pulumi/stand-in.main.ts")}" "$@"`;
    // Runs one update at a time, as Pulumi's own lock does. The update of a killed command holds the lock until it exits.
    const locked = `flock --nonblock --conflict-exit-code 254 ${join(directory, "lock")} ${command}`;
    const standIn = `#!/bin/sh\n[ "$1" = up ] || exec ${command}\n${locked}\nstatus=$?\n[ $status != 254 ] || echo "error: the stack is currently locked by 1 lock(s)" >&2\nexit $status\n`;
    await mkdir(join(directory, "bin"));
    await writeFile(join(directory, "bin/pulumi"), standIn);
    await chmod(join(directory, "bin/pulumi"), 0o755);
    const ports = await findFreeHostPorts();
    const [peerPort = 0] = await findFreePorts(1);
    const config = {
      target: "docker",
      dockerEngine: found.url,
      tokenAddress,
      signerPrivateKey: `0x${"17".repeat(32)}`,
      payTo: `0x${"01".repeat(20)}`,
      gatehouseImage: await buildGatehouseImage(inject("testImagesName"), found.nodeImage),
      nodeImage: await image("0.16.2"),
      nodeUser: String(testNodeUser),
      nodeVersion: "0.16.2",
      hostIp: "203.0.113.10",
      peerPort: String(peerPort),
      limits: JSON.stringify({ node: { cpus: 1, memoryMebibytes: 256 } }),
      // An address instead of a name, because on an engine without DNS, looking up the name of an undeployed service may take seconds, and
      // delays all other lookups.
      pushgatewayUrl: "http://203.0.113.10:9091",
      domainKey: "the-domain-key",
      stabilizingKey: "the-stabilizing-key",
      ...asConfig(ports),
    };
    await writeFile(configPath(), JSON.stringify(config));
    const urls = {
      public: { gateway: `http://127.0.0.1:${ports.gatewayPort}` },
      operations: { status: `http://127.0.0.1:${ports.statusPort}/status` },
    };
    await writeFile(join(directory, "outputs.json"), JSON.stringify({ urls }));
    await pulumi("up", "--yes", "--skip-preview");
  }, 1_200_000);

  afterAll(async () => {
    await removeStack(prefix);
    await rm(directory, { recursive: true, force: true });
  });

  beforeEach(waitUntilSettled, 150_000);

  test("upgrades to a good version, verifies it, and removes the copy", async () => {
    const chainBefore = await chain();
    const done = await upgrade(await image("0.17.0"));
    expect(done.printed).toContain(`Verified: ${stack} runs 0.17.0`);
    expect(done.status).toBe(0);
    expect((await chain()).slice(0, chainBefore.length)).toEqual(chainBefore);
    expect(await starts()).toEqual(["0.16.2", "0.17.0"]);
    expect(await readConfig()).toMatchObject({ nodeImage: await image("0.17.0"), nodeVersion: "0.17.0" });
    expect((await readdir(directory)).filter((name) => name.startsWith(".gatehouse-upgrade"))).toEqual([]);
    expect(await runDocker("ps", "--all", "--format", "{{.Names}}")).not.toContain(`${node}-upgrade`);
  });

  test("resumes after kill -9 during copy, update and rollback, and rolls back a version that overwrites the data", async () => {
    const chainBefore = await chain();
    const bad = await image("0.17.4", "corrupts");
    for (const line of ["Now copying", "Now running pulumi up", "Now restoring the old data"]) {
      expect((await upgrade(bad, { killAtLine: line })).signal).toBe("SIGKILL");
    }
    const elsewhere = await mkdtemp(join(tmpdir(), "gatehouse-program-"));
    await cp(directory, elsewhere, { recursive: true, filter: (path) => !path.includes(".gatehouse-upgrade") });
    const rejected = await upgrade(bad, { in: elsewhere });
    await rm(elsewhere, { recursive: true, force: true });
    expect(rejected.printed).toContain(`${node}-workspace contains the copy of an unfinished upgrade`);
    const done = await upgrade("", { name: `organization/gatehouse/${stack}` });
    expect(done.printed).toContain(`Rolled back: ${stack} runs 0.17.0`);
    expect(done.status).toBe(1);
    expect((await chain()).slice(0, chainBefore.length)).toEqual(chainBefore);
    expect(await starts()).not.toContain("0.17.4");
    const discard = /docker ((?:--host \S+ )?run --rm .* discard \S+ \S+)/.exec(done.printed)?.[1] ?? "";
    await runDocker(...discard.split(" "));
    expect(await readConfig()).toMatchObject({ nodeImage: await image("0.17.0"), nodeVersion: "0.17.0" });
  });

  test("rejects an upgrade that changes more than the node, and changes nothing", async () => {
    const config = await readConfig();
    await writeFile(
      configPath(),
      JSON.stringify({ ...config, limits: JSON.stringify({ "engine-proxy": { cpus: 0.4, memoryMebibytes: 128 } }) }),
    );
    const rejected = await upgrade(await image("0.18.0"));
    expect(rejected.printed).toContain("pulumi up would change more than the node");
    expect(rejected.status).toBe(1);
    expect(await starts()).not.toContain("0.18.0");
    await writeFile(configPath(), JSON.stringify(config));
  });
});
