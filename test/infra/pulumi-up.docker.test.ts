import { hash } from "node:crypto";
import { decodePaymentResponseHeader } from "@x402/core/http";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { tokenAddress } from "#devnet/token/address.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine } from "../support/engine/find-engine.ts";
import { callRpc } from "../support/call-rpc.ts";
import { createClientFetch } from "../support/payments/paying.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { createPulumiStack, type PulumiResult, type PulumiStack } from "../support/pulumi/pulumi-stack.ts";
import { removeStack } from "../support/pulumi/remove-stack.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startBuyers } from "../support/payments/buyers.ts";
import { startCallers } from "../support/gateway/callers.ts";
import { findFreeHostPorts } from "./host-ports.ts";
import { formatSettingsProbe } from "./settings-probe.ts";
import { buildPushgatewayImage } from "./test-images.ts";

const engine = await findEngine();
const pulumi = await findPulumi("docker");
const lacking = [engine, pulumi].flatMap((part) => (part.ok ? [] : [part.message]));
const skipped = lacking.length === 0 ? "" : ` (skipped: ${lacking.join("; ")})`;
const stepDeadlineMs = 900_000;
const nodeConf = "/data/bin/node.conf";

let stack: PulumiStack;
let config: Record<string, unknown> = {};
let urls = { gateway: "", resourceServer: "", pushgateway: "" };
const times: string[] = [];

const container = (service: string) => `${stack.prefix}-${service}`;
const labelled = (...list: readonly string[]) =>
  runDocker(...list, "--filter", `label=io.gatehouse.stack=${stack.prefix}`);
const startedAt = (service: string) => runDocker("inspect", "--format", "{{.State.StartedAt}}", container(service));
const evaluate = (service: string, program: string) => runDocker("exec", container(service), "node", "-e", program);
const readConf = () => evaluate("node", `process.stdout.write(require("fs").readFileSync("${nodeConf}"))`);

/** Runs a command, records its duration, and fails with its output if it does not exit as expected. */
async function step(what: string, command: Promise<PulumiResult>, expected: "succeeds" | "fails" = "succeeds") {
  const result = await command;
  times.push(`  ${what}: ${result.seconds} s`);
  if ((result.status === 0) !== (expected === "succeeds")) throw new Error(`${what}: ${result.output}`);
  return result.output;
}

const up = (what: string, ...options: readonly string[]) =>
  step(what, stack.run("up", "--yes", "--skip-preview", ...options));

/** Pays for a request, and returns the settlement's transaction. */
async function pay(): Promise<string> {
  const response = await createClientFetch()(`${urls.resourceServer}/data`);
  expect(response.status).toBe(200);
  return decodePaymentResponseHeader(response.headers.get("payment-response") ?? "").transaction;
}

/** Ids of the stack's containers by name. */
async function containerIds(): Promise<Readonly<Record<string, string>>> {
  const lines = (await labelled("ps", "--all", "--no-trunc", "--format", "{{.Names}} {{.ID}}")).split("\n");
  return Object.fromEntries(lines.map((line) => line.split(" ") as [string, string]));
}

/** The account that sent a transaction. */
async function senderOf(transaction: string): Promise<string | undefined> {
  return (await callRpc<{ from: string }>(urls.gateway, "eth_getTransactionByHash", [transaction])).result?.from;
}

/** Time at which the node's metrics last reached the Pushgateway, in seconds since 1970. */
async function lastPush(): Promise<number> {
  const scrapedResponse = await fetch(`${urls.pushgateway}/metrics`, { signal: AbortSignal.timeout(10_000) });
  const found = /^push_time_seconds\{[^}]*\} (\S+)$/m.exec(await scrapedResponse.text());
  return Number(found?.[1] ?? 0);
}

async function rangeOf(blocks: number): Promise<string | undefined> {
  const range = { fromBlock: "0x0", toBlock: `0x${(blocks - 1).toString(16)}` };
  return (await callRpc(urls.gateway, "eth_getLogs", [range])).error?.message;
}

describe.skipIf(lacking.length > 0)(`pulumi up on a real engine${skipped}`, { timeout: stepDeadlineMs }, () => {
  beforeAll(async () => {
    if (!engine.ok) throw new Error(engine.message);
    stack = await createPulumiStack(createUniqueName("up").replace("gatehouse-test-", ""));
    const ports = await findFreeHostPorts();
    const [gateway, resourceServer, pushgateway] = [
      ports.gatewayPort,
      ports.resourceServerPort,
      ports.pushgatewayPort,
    ].map((port) => `http://127.0.0.1:${port}`) as [string, string, string];
    urls = { gateway, resourceServer, pushgateway };
    config = {
      target: "docker",
      dockerEngine: engine.url,
      baseImage: engine.nodeImage,
      devAccounts: true,
      tokenAddress,
      nodeVersion: "0.15.0",
      ...ports,
      pushgatewayImage: await buildPushgatewayImage(inject("testImagesName"), engine.nodeImage),
    };
    await stack.configure(config);
  });

  afterAll(async () => {
    process.stdout.write(`pulumi ${pulumi.ok ? pulumi.version : ""}, times of the steps:\n${times.join("\n")}\n`);
    await removeStack(stack.prefix);
    await stack[Symbol.asyncDispose]();
  });

  test("deploys the system from scratch, and sells a request", async () => {
    const printed = await up("first up, including both image builds");
    expect(printed).not.toContain("warning:");
    await pay();
  });

  test("changes nothing on a second run", async () => {
    await up("up again", "--expect-no-changes");
    await step("preview with refresh", stack.run("preview", "--refresh", "--expect-no-changes"));
  });

  test("corrects a broken node.conf in the volume without restarting the node", async () => {
    const confBefore = await readConf();
    const since = await startedAt("node");
    await evaluate("node", `require("fs").writeFileSync("${nodeConf}", "{")`);
    const brokenAt = performance.now();
    await until("node.conf is repaired", 120_000, async () => (await readConf()) === confBefore);
    expect(await startedAt("node")).toBe(since);
    times.push(`  node.conf broken and repaired: ${Math.round(performance.now() - brokenAt) / 1_000} s`);
  });

  test("migrates the metrics keys of an upgraded node, and metrics still arrive", async () => {
    expect(await readConf()).toContain("pamir_cetina_push_address");
    await stack.configure({ ...config, nodeVersion: "0.16.2" });
    await up("nodeVersion 0.15.0 to 0.16.2");
    // The sidecar restarts the node once it has written the keys, and no command runs in its container meanwhile.
    const migrated = await until("the keys are those of 0.16", 60_000, async () => {
      const conf = await readConf();
      return conf.includes("storage_cetina_push_address") ? conf : undefined;
    });
    expect(migrated).not.toContain("pamir_cetina");
    const now = Date.now() / 1_000;
    await until("metrics arrive", 60_000, async () => (await lastPush()) > now);
  });

  test("applies a changed gateway limit without restarting the node", async () => {
    // The sidecar restarts the node for the migrated keys.
    await until("the node responds", generousMs, async () => (await rangeOf(60)) === undefined);
    const since = await startedAt("node");
    config = { ...config, nodeVersion: "0.16.2", settings: { sidecar: { gateway: { ranges: { logsBlocks: 50 } } } } };
    await stack.configure(config);
    await up("ranges.logsBlocks 50");
    expect(await rangeOf(60)).toContain("limited to 50 blocks");
    expect(await startedAt("node")).toBe(since);
  });

  test("hot-restarts the sidecar for changed settings without a failed call", async () => {
    const containerIdsBefore = await containerIds();
    const settings = { sidecar: { gateway: { ranges: { logsBlocks: 50 }, listener: { connections: 900 } } } };
    config = { ...config, settings };
    await stack.configure(config);
    const callers = await startCallers(urls.gateway, { requestsPerSecond: 20, webSockets: 4 });
    await up("a setting for which the sidecar hot-restarts");
    await until("WebSockets were reopened", generousMs, () => callers.reopened() >= 4);
    await callers.end();
    expect(callers.failures).toEqual([]);
    const after = await containerIds();
    const changed = Object.keys(after).filter((name) => after[name] !== containerIdsBefore[name]);
    expect(changed).toEqual([container("sidecar-live")]);
  });

  test("fails no call of 200 per second and 50 WebSockets during ten updates", async () => {
    const { sidecar } = config["settings"] as Readonly<{ sidecar: Readonly<{ gateway: object }> }>;
    const room = { ...limitlessTier, concurrency: 192, webSockets: 100 };
    const tiers = { public: room, paid: room, internal: limitlessTier };
    const gateway = { ...sidecar.gateway, upstream: { connections: 256 }, tiers };
    const update = async (what: string, changed: object, others: object = {}) => {
      await stack.configure({ ...config, ...others, settings: { sidecar: { gateway, ...changed } } });
      await up(`under load: ${what}`);
      await until(
        `the sidecar has ${what}`,
        generousMs,
        async () => (await evaluate("sidecar", formatSettingsProbe("sidecar"))) === "true",
      );
    };
    await update("higher limits for the callers", {});
    const containerIdsBefore = await containerIds();
    const callers = await startCallers(urls.gateway, { requestsPerSecond: 200, webSockets: 50 });
    await update("another range", { gateway: { ...gateway, ranges: { logsBlocks: 60 } } });
    await update("another cache", { gateway: { ...gateway, cache: { totalBytes: 1_048_576 } } });
    await update("fewer connections", { gateway: { ...gateway, listener: { connections: 800 } } });
    await update("a longer idle timeout", { gateway: { ...gateway, listener: { idleTimeoutMs: 70_000 } } });
    await update("traces", { gateway: { ...gateway, tracing: { otlpUrl: "http://127.0.0.1:9/v1/traces" } } });
    await update("a higher log level", { log: { level: "warn" } });
    await update("another interval for health checks", { health: { timeoutMs: 4_000 } });
    await update("fewer restarts", { restart: { budgetPerHour: 3 } });
    await update("a smaller max lag", { lag: { maxBlocks: 40 } });
    await update("an API key", {}, { gatewayApiKeys: { ops: { sha256: hash("sha256", "a key"), tier: "paid" } } });
    await until("WebSockets were reopened", generousMs, () => callers.reopened() >= 50);
    await callers.end();
    expect(callers.failures).toEqual([]);
    expect(callers.answered()).toBeGreaterThan(10_000);
    const after = await containerIds();
    for (const service of ["node", "sidecar"])
      expect(after[container(service)]).toBe(containerIdsBefore[container(service)]);
    times.push(`  responses meanwhile: ${callers.answered()}, WebSockets reopened: ${callers.reopened()}`);
    await stack.configure(config);
    await up("everything as before the load");
  });

  test("delivers a changed secret only to the service that uses it", async () => {
    const containerIdsBefore = await containerIds();
    const signer = testAccount(3);
    const settings = { facilitator: { signer: { privateKey: signer.privateKey } } };
    config = { ...config, settings: { ...(config["settings"] as object), ...settings } };
    await stack.configure(config);
    await up("another key of the facilitator's signer");
    const after = await containerIds();
    const changed = Object.keys(after).filter((name) => after[name] !== containerIdsBefore[name]);
    expect(changed.toSorted()).toEqual([container("facilitator"), container("facilitator-files")]);
    expect(await senderOf(await pay())).toBe(signer.account.address.toLowerCase());
  });

  test("hot-restarts facilitator and resource server for changed settings without a failed purchase", async () => {
    const containerIdsBefore = await containerIds();
    const others = config["settings"] as Readonly<{ facilitator: object }>;
    const settings = {
      ...others,
      facilitator: { ...others.facilitator, settlement: { inFlightMax: 900 } },
      "resource-server": { payment: { inFlightMax: 200 } },
    };
    config = { ...config, settings };
    await stack.configure(config);
    const buyers = startBuyers(urls.resourceServer, tokenAddress, { everyMs: 500 });
    await up("a setting of facilitator and resource server each");
    for (const service of ["facilitator", "resource-server"] as const) {
      await until(
        `${service} is handed over`,
        generousMs,
        async () => (await evaluate(service, formatSettingsProbe(service))) === "true",
      );
    }
    await buyers.end();
    expect(buyers.failures).toEqual([]);
    expect(new Set(buyers.bought).size).toBe(buyers.bought.length);
    expect(buyers.bought.length).toBeGreaterThan(10);
    const after = await containerIds();
    const changed = Object.keys(after).filter((name) => after[name] !== containerIdsBefore[name]);
    expect(changed.toSorted()).toEqual([container("facilitator-live"), container("resource-server-live")]);
  });

  test("is rejected by the policies at preview", async () => {
    // Even without the signer's own key: a changed secret makes values unknown, which must not disable the rule.
    await stack.configure({ ...config, settings: { sidecar: { prune: { enabled: false } } } });
    const printed = await step(
      "preview against the policies",
      stack.run("preview", "--policy-pack", "policies"),
      "fails",
    );
    expect(printed).toContain("node-configuration");
    // The Pushgateway's image has a tag but no digest, which is known before anything is pulled.
    expect(printed).toContain("image-pinned");
    expect(printed).not.toContain("can't run policy");
    await stack.configure(config);
  });

  test("fails with one line about a container that never becomes healthy, even without changes", async () => {
    if (!engine.ok) throw new Error(engine.message);
    await stack.configure({ ...config, pushgatewayImage: engine.nodeImage });
    for (const what of ["up with an image that isn't a Pushgateway", "the same again"]) {
      const printed = await step(what, stack.run("up", "--yes", "--skip-preview"), "fails");
      expect(printed).toMatch(/-pushgateway is (\w+ and )?not healthy; health check `wget .*See `docker logs /);
    }
    await stack.configure(config);
    await up("with a Pushgateway again");
  });

  test("recovers from kill -9 during an update", async () => {
    // A change to the sidecar's environment that doesn't affect the node, so that the node is not restarted during the payment.
    const { sidecar } = config["settings"] as { sidecar: object };
    const changedSidecar = { ...sidecar, docker: { stopTimeoutSeconds: 299 } };
    await stack.configure({ ...config, settings: { ...(config["settings"] as object), sidecar: changedSidecar } });
    const since = await runDocker("inspect", "--format", "{{.Id}}", container("sidecar"));
    const child = stack.start("up", "--yes", "--skip-preview");
    await until("the sidecar is recreated", 120_000, async () => {
      const now = await runDocker(
        "ps",
        "--all",
        "--no-trunc",
        "--quiet",
        "--filter",
        `name=^/${container("sidecar")}$`,
      );
      return now !== "" && now !== since;
    });
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await until("the command has exited", generousMs, () => child.exitCode !== null || child.signalCode !== null);
    const rejected = await step("up after kill -9", stack.run("up", "--yes", "--skip-preview"), "fails");
    expect(rejected).toMatch(/pulumi cancel|lock/);
    await step("cancel", stack.run("cancel", "--yes"));
    const conflict = await step("up after cancel", stack.run("up", "--yes", "--skip-preview"), "fails");
    expect(conflict).toContain(`The container name "/${container("sidecar")}" is already in use`);
    await runDocker("rm", "--force", container("sidecar"));
    await up("up after docker rm");
    await pay();
    await up("up again after recovery", "--expect-no-changes");
  });

  test("destroys everything except protected volumes", async () => {
    await step("destroy of protected volumes", stack.run("destroy", "--yes", "--skip-preview"), "fails");
    await step("destroy --exclude-protected", stack.run("destroy", "--yes", "--skip-preview", "--exclude-protected"));
    expect(await labelled("ps", "--all", "--quiet")).toBe("");
    expect(await labelled("network", "ls", "--quiet")).toBe("");
    const kept = (await labelled("volume", "ls", "--format", "{{.Name}}")).split("\n").toSorted();
    expect(kept).toEqual(
      ["facilitator-ledger", "node-workspace", "resource-server-ledger", "sidecar-state"].map(container),
    );
  });
});
