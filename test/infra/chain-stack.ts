import { createPulumiCli } from "../../cli/stack-upgrade/pulumi/pulumi-cli.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import { parse } from "yaml";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { findRecordPath, readRecord, type StackRecord } from "../../cli/stack-upgrade/stack-record.ts";
import { runDocker } from "../support/engine/docker.ts";
import type { TestEngine } from "../support/engine/find-engine.ts";
import { createPulumiStack, type PulumiStack } from "../support/pulumi/pulumi-stack.ts";
import { removeStack } from "../support/pulumi/remove-stack.ts";
import { until } from "#daemon/testing/until.ts";
import { findFreeHostPorts } from "./host-ports.ts";
import {
  buildChainNodeImage,
  buildGatehouseImage,
  buildPushgatewayImage,
  testNodeUser,
  type ChainNodeBehaviour,
} from "./test-images.ts";

const root = join(import.meta.dirname, "../..");

/** A deployed stack whose node keeps a chain on its volume. */
export type ChainStack = AsyncDisposable &
  Readonly<{
    name: string;
    stack: PulumiStack;
    statusPort: number;
    /** Lines of a file in the node's data. */
    readData: (file: string) => Promise<readonly string[]>;
    readConfig: () => Promise<Readonly<Record<string, unknown>>>;
    /** Id of the node's container; empty if there is none. */
    readNodeId: () => Promise<string>;
    /** The stack's unfinished upgrade. */
    readRecord: () => StackRecord | undefined;
    /** Runs Pulumi on the stack, and throws its output if it fails. */
    runPulumi: (...args: readonly string[]) => Promise<void>;
    /**
     * Kills only an upgrade's `pulumi up`, as on a machine that runs out of memory, once it has created a new container
     * for the node.
     */
    killUpdate: (running: TypedUpgrade) => Promise<void>;
  }>;

/** The image of a node version. */
export const chainImage = (engine: TestEngine, version: string, behaviour: ChainNodeBehaviour = "good") =>
  buildChainNodeImage(inject("testImagesName"), engine.ok ? engine.nodeImage : "", { version, behaviour });

/** Deploys a stack with version 0.16.2 of that node. */
export async function deployChainStack(
  name: string,
  { engine, sharedWith }: Readonly<{ engine: TestEngine; sharedWith?: ChainStack }>,
): Promise<ChainStack> {
  if (!engine.ok) throw new Error(engine.message);
  const stack = await createPulumiStack(name, sharedWith?.stack);
  const ports = await findFreeHostPorts();
  const [peerPort = 0] = await findFreePorts(1);
  const runPulumi = async (...args: readonly string[]) => {
    const { status, output } = await stack.run(...args);
    if (status !== 0) throw new Error(output);
  };
  const readNodeId = () => runDocker("inspect", "--format", "{{.Id}}", `${stack.prefix}-node`).catch(() => "");
  const readOwnRecord = () => readRecord(findRecordPath(root, name));
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => rm(findRecordPath(root, name), { force: true }));
  cleanUp.use(stack);
  cleanUp.defer(() => removeStack(stack.prefix));
  const images = inject("testImagesName");
  await stack.configure({
    target: "docker",
    dockerEngine: engine.url,
    tokenAddress,
    payTo: `0x${"01".repeat(20)}`,
    gatehouseImage: await buildGatehouseImage(images, engine.nodeImage),
    nodeImage: await chainImage(engine, "0.16.2"),
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
  const owned = cleanUp.move();
  return {
    name,
    stack,
    statusPort: ports.statusPort,
    readData: async (file) =>
      (await runDocker("exec", `${stack.prefix}-node`, "cat", `/data/data/${file}`)).split("\n"),
    readConfig: async () =>
      (parse(await readFile(stack.configFile, "utf8")) as { config: Record<string, unknown> }).config,
    readNodeId,
    readRecord: readOwnRecord,
    runPulumi,
    killUpdate: async (running) => {
      const nodeIdBefore = await readNodeId();
      const became = await until("pulumi up has made another container", 300_000, async () => {
        const id = await readNodeId();
        return (id !== "" && id !== nodeIdBefore && "made") || (running.hasEnded() && "ended");
      });
      if (became === "ended") throw new Error(`it exited before pulumi up: ${running.printed()}`);
      const pulumi = createPulumiCli({ stack: name, configFile: stack.configFile }, { run: async () => "" });
      const updates = await pulumi.findUpdates();
      if (updates.length === 0) throw new Error("no pulumi up is running");
      for (const pid of updates) process.kill(pid, "SIGKILL");
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A running `gatehouse upgrade`. */
export type TypedUpgrade = Readonly<{
  /** Output so far. */
  printed: () => string;
  hasEnded: () => boolean;
  /** Kills it with SIGKILL. */
  kill: () => void;
  /** Waits until it exits. */
  end: () => Promise<Readonly<{ status: number | null; printed: string }>>;
}>;

/** Starts `gatehouse upgrade` as an operator would, with its state in that directory. */
export function startUpgrade(
  words: readonly string[],
  { env, state }: Readonly<{ env: NodeJS.ProcessEnv; state: string }>,
): TypedUpgrade {
  const child = spawn(process.execPath, [join(root, "cli/main.ts"), "upgrade", "--cwd", root, ...words], {
    env: { ...env, XDG_STATE_HOME: state },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (printed += String(chunk)));
  const closed = once(child, "close") as Promise<[number | null]>;
  return {
    printed: () => printed,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    kill: () => void child.kill("SIGKILL"),
    end: async () => {
      const [status] = await closed;
      return { status, printed };
    },
  };
}
