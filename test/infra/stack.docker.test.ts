import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { callRpc } from "../support/call-rpc.ts";
import { readBalance, createClientFetch, payee } from "../support/payments/paying.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startCallers } from "../support/gateway/callers.ts";
import { buildTestImages, type TestImages } from "./test-images.ts";
import { startTestStack, type TestStack } from "./test-stack.ts";

const found = await findEngine();

const nodeConf = "/data/bin/node.conf";
let images: TestImages;
let stack: TestStack;
let urls: TestStack["urls"];
let [prefix, node, sidecar] = ["", "", ""];

const withControlToken = (controlToken: string) => ({
  settings: JSON.stringify({ sidecar: { upkeep: { controlToken } } }),
});
const print = (program: string) => ["node", "-e", program];
const readConf = () => stack.api.run(node, print(`process.stdout.write(require("fs").readFileSync("${nodeConf}"))`));
const rpc = (method: string, params: unknown[]) => callRpc(urls.gateway, method, params);

describe.skipIf(!found.ok)(`the deployed stack on a real engine${skipReason(found)}`, () => {
  beforeAll(async () => {
    if (!found.ok) throw new Error(found.message);
    images = await buildTestImages(inject("testImagesName"), found.nodeImage);
    stack = await startTestStack(found.url, images, withControlToken("a".repeat(32)));
    ({ prefix, urls } = stack);
    node = `${prefix}-node`;
    sidecar = `${prefix}-sidecar`;
  }, 900_000);

  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    expect(await runDocker("ps", "--all", "--quiet", "--filter", `label=io.gatehouse.stack=${prefix}`)).toBe("");
    expect(await runDocker("volume", "ls", "--quiet", "--filter", `label=io.gatehouse.stack=${prefix}`)).toBe("");
    expect(await runDocker("network", "ls", "--quiet", "--filter", `label=io.gatehouse.stack=${prefix}`)).toBe("");
  });

  test("runs services confined, with secrets in files of mode 0400", async () => {
    const program = `const { statSync, readdirSync, readFileSync } = require("fs");
      const files = readdirSync("/run/gatehouse/files").map((name) => [name, (statSync("/run/gatehouse/files/" + name).mode & 0o777).toString(8), statSync("/run/gatehouse/files/" + name).uid]);
      let written = "";
      try { require("fs").writeFileSync("/app/x", ""); written = "yes"; } catch (error) { written = error.code; }
      console.log(JSON.stringify({ uid: process.getuid(), files, written, caps: /CapEff:\\s*(\\S+)/.exec(readFileSync("/proc/self/status", "utf8"))[1] }));`;
    const seen = JSON.parse(await stack.api.run(`${prefix}-facilitator`, print(program))) as Record<string, unknown>;
    expect(seen).toEqual({
      uid: 10_001,
      files: [["signer-privatekey", "400", 10_001]],
      written: "EROFS",
      caps: "0000000000000000",
    });
  });

  test("hot-restarts the sidecar for a changed secret without a failed call", async () => {
    const { StartedAt: startedAt } = (await stack.inspect(sidecar)).State;
    const statusBy = async (token: string) =>
      (await fetch(`${urls.status}/control`, { headers: { Authorization: `Bearer ${token}` } })).status;
    expect(await statusBy("a".repeat(32))).toBe(200);
    const callers = await startCallers(urls.gateway, { requestsPerSecond: 20, webSockets: 4 });
    await stack.deliver("-sidecar-secrets", withControlToken("b".repeat(32)));
    await until("the new token works", 120_000, async () => (await statusBy("b".repeat(32))) === 200);
    await until("the old token does not", 120_000, async () => (await statusBy("a".repeat(32))) === 401);
    await until("WebSockets were reopened", generousMs, () => callers.reopened() >= 4);
    await callers.end();
    expect(callers.failures).toEqual([]);
    expect((await stack.inspect(sidecar)).State.StartedAt).toBe(startedAt);
    const look = `const { mode, uid } = require("fs").statSync("/run/gatehouse/secrets/upkeep-controltoken");
      console.log((mode & 0o777).toString(8), uid)`;
    expect((await stack.api.run(sidecar, print(look))).trim()).toBe("400 10001");
    expect(JSON.stringify(await stack.api.call("GET", `/containers/${sidecar}/json`))).not.toMatch(/a{32}|b{32}/);
  });

  test("sells a request through the resource server and the facilitator", async () => {
    const balanceBefore = await readBalance(urls.gateway, payee.address);
    const response = await createClientFetch()(`${urls.resourceServer}/data`);
    expect(response.status).toBe(200);
    expect(response.headers.get("payment-response")).toBeTruthy();
    expect((await readBalance(urls.gateway, payee.address)) - balanceBefore).toBe(10_000n);
  });

  test("keeps pushed metrics across a Pushgateway restart and exposes them on loopback", async () => {
    const gateway = `${prefix}-pushgateway`;
    const pushedResponse = await fetch(`${urls.pushgateway}/metrics/job/real-node`, {
      method: "PUT",
      body: "chain_height 42\n",
    });
    expect(pushedResponse.status).toBe(200);
    const scrape = async () => (await fetch(`${urls.pushgateway}/metrics`)).text();
    const sample = 'chain_height{instance="",job="real-node"} 42';
    expect(await scrape()).toContain(sample);
    await runDocker("restart", gateway);
    await until("the pushed metrics are back", generousMs, async () => (await scrape()).includes(sample));
    await until("it is healthy", 60_000, async () => {
      return (await stack.inspect(gateway)).State.Health?.Status === "healthy";
    });
    const identity = await stack.api.run(gateway, [
      "sh",
      "-c",
      "id -u; grep CapEff /proc/self/status; touch /x 2>/dev/null || echo rejected",
    ]);
    expect(identity).toMatch(/^65534\nCapEff:\s+0{16}\nrejected\n$/);
  });

  test("publishes no port of the node's RPC", async () => {
    const { HostConfig } = (await stack.api.call("GET", `/containers/${node}/json`)) as {
      HostConfig: { PortBindings: object };
    };
    expect(HostConfig.PortBindings).toEqual({});
  });

  test("corrects a broken node.conf in the volume, and restarts the node through the engine proxy", async () => {
    const confBefore = await readConf();
    const startedAt = (await stack.inspect(node)).State.StartedAt;
    const broken = `const { readFileSync, writeFileSync } = require("fs");
      const conf = JSON.parse(readFileSync("${nodeConf}", "utf8"));
      conf.chain.monitor_config = { enable_pamir_cetina: true, pamir_cetina_push_port: "no" };
      conf.chain.edited_by = "hand";
      writeFileSync("${nodeConf}", JSON.stringify(conf));`;
    await stack.api.run(node, print(broken));
    await until("the configuration is repaired", 60_000, async () =>
      (await readConf()).includes("storage_cetina_push_port"),
    );
    await until("the node has a new process", 60_000, async () => {
      const { State: state } = await stack.inspect(node);
      return state.Running && state.StartedAt !== startedAt && state.Health?.Status === "healthy";
    });
    // The edit of a key that Gatehouse does not manage is kept, and requires the restart.
    const { chain } = JSON.parse(confBefore) as { chain: object };
    expect(JSON.parse(await readConf())).toEqual({ ...JSON.parse(confBefore), chain: { ...chain, edited_by: "hand" } });
    await until(
      "the gateway responds",
      generousMs,
      async () => (await rpc("eth_blockNumber", [])).result !== undefined,
    );
  });
});
