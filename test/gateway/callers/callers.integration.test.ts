import { hash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { createLog } from "#daemon/log/log.ts";
import { verificationRates } from "#gateway/callers/identify.ts";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { call, post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildRequest, openMany, openRaw } from "../../support/gateway/raw-call.ts";

const key = "a-key-of-the-operator";
const entry = { name: "ops", sha256: hash("sha256", key), tier: "paid" };
const chainId = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

/** The methods in a response of rpc.discover. */
function namesOf({ text }: Readonly<{ text: string }>): readonly string[] {
  const { result } = JSON.parse(text) as { result: { methods: readonly { name: string }[] } };
  return result.methods.map(({ name }) => name);
}

describe("callers", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  const folder = makeSharedDirectory();
  let token: (claims: object, expires: string) => Promise<string>;
  const lines: string[] = [];
  beforeAll(async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    await writeFile(join(folder, "jwks.json"), JSON.stringify({ keys: [await exportJWK(publicKey)] }));
    await writeFile(join(folder, "keys.json5"), JSON.stringify({ keys: [entry] }));
    await writeFile(join(folder, "policy.json5"), "{}");
    token = (claims, expires) =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: "ES256" })
        .setSubject("0xpayer")
        .setExpirationTime(expires)
        .sign(privateKey);
    node = await startFakeNode();
    const settings = {
      private: { enabled: true },
      internal: { enabled: true },
      callers: { keysPath: join(folder, "keys.json5"), recheckMs: 200 },
      jwt: { jwksPath: join(folder, "jwks.json") },
      policyPath: join(folder, "policy.json5"),
    };
    const log = createLog({ service: "test", level: "info" }, { write: (line) => void lines.push(line) });
    gateway = await startTestGateway(node, settings, log);
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });
  const privately = (authorization: string, body = chainId) =>
    post(gateway.urls["private"]!, body, authorization === "" ? {} : { Authorization: authorization });

  it("reach the private listener with a valid key or token; a rejection reveals nothing", async () => {
    const good = [`Bearer ${key}`, `Bearer ${await token({ tier: "paid" }, "1h")}`];
    for (const authorization of [...good, ...good]) expect((await privately(authorization)).status).toBe(200);
    const forged = `${(await token({ tier: "paid" }, "1h")).slice(0, -4)}AAAA`;
    const none = Buffer.from('{"alg":"none"}').toString("base64url");
    const unsigned = `${none}.${Buffer.from('{"sub":"a","tier":"internal","exp":9999999999}').toString("base64url")}.`;
    for (const authorization of [
      "",
      `Bearer ${key}x`,
      `Basic ${key}`,
      `Bearer ${entry.sha256}`,
      `Bearer ${await token({ tier: "paid" }, "-1h")}`,
      `Bearer ${await token({ tier: "nobody" }, "1h")}`,
      `Bearer ${await token({}, "1h")}`,
      `Bearer ${forged}`,
      `Bearer ${unsigned}`,
    ]) {
      const response = await privately(authorization);
      expect(response.status).toBe(401);
      expect(response.text).toContain("an API key or token is required");
    }
  });

  it("have a limited number of new tokens verified per address, while keys and known tokens still work", async () => {
    const { privateKey } = await generateKeyPair("ES256");
    const forgedPayment = await new SignJWT({ tier: "paid" })
      .setProtectedHeader({ alg: "ES256" })
      .setSubject("0xpayer")
      .setExpirationTime("1h")
      .sign(privateKey);
    // Uses a separate gateway, so that it does not count other tests' tokens.
    await using other = await startTestGateway(node, {
      private: { enabled: true },
      callers: { keysPath: join(folder, "keys.json5") },
      jwt: { jwksPath: join(folder, "jwks.json") },
    });
    const send = (authorization: string) => post(other.urls["private"]!, chainId, { Authorization: authorization });
    const known = `Bearer ${await token({ tier: "paid" }, "1h")}`;
    expect((await send(known)).status).toBe(200);
    const began = performance.now();
    const requests = buildRequest(chainId, { headers: { Authorization: `Bearer ${forgedPayment}` } }).repeat(50);
    using senders = openMany(20, () => openRaw(other.urls["private"]!, requests));
    const countStatuses = () => senders.clients.flatMap(({ received }) => received().match(/HTTP\/1\.1 \d+/g) ?? []);
    await until("all tokens are rejected", generousMs, () => countStatuses().length === 1_000);
    const seconds = (performance.now() - began) / 1_000;
    const { 401: verified = [], 429: limited = [] } = Object.groupBy(countStatuses(), (line) => Number(line.slice(9)));
    const { requestBurst, requestsPerSecond } = verificationRates;
    expect(verified.length).toBeLessThanOrEqual(requestBurst + Math.ceil(seconds * requestsPerSecond));
    // A slow machine may verify them so slowly that the rate limit is never reached.
    expect(verified.length + limited.length).toBe(1_000);
    for (const authorization of [known, `Bearer ${key}`]) expect((await send(authorization)).status).toBe(200);
  });

  it("can call the methods of their listener", async () => {
    expect((await call(gateway.urls["public"]!, "net_listening")).error?.code).toBe(-32601);
    expect((await privately(`Bearer ${key}`, chainId.replace("eth_chainId", "net_listening"))).text).toContain(
      "result",
    );
    expect(
      (await privately(`Bearer ${key}`, chainId.replace("eth_chainId", "debug_getBlockReadStates"))).text,
    ).toContain("-32601");
    expect((await call(gateway.urls["internal"]!, "debug_getBlockReadStates")).error).toBeUndefined();
  });

  it("cannot use an unlisted name to trace, widen a range or add a metric series", async () => {
    await using forwardingGateway = await startTestGateway(node, {
      internal: { enabled: true },
      unknownMethods: { internal: "forward" },
    });
    const url = forwardingGateway.urls["internal"]!;
    expect((await call(url, "my_secretName")).error).toBeUndefined();
    expect((await call(url, "debug_traceEverything")).error?.code).toBe(-32601);
    expect((await call(url, "trace_everything")).error?.code).toBe(-32601);
    const wide = [{ fromBlock: "0x0", toBlock: "0xffff" }];
    expect((await call(url, "eth_newFilter", wide)).error?.message).toContain("limited to 100 blocks");
    const metrics = await forwardingGateway.metrics.metrics();
    expect(metrics).not.toContain("my_secretName");
    expect(metrics).toContain('method="unlisted"');
  });

  it("can call unlisted methods on the private listener if settings forward them, but never a tracer", async () => {
    await using forwardingGateway = await startTestGateway(node, {
      private: { enabled: true },
      callers: { keysPath: join(folder, "keys.json5") },
      unknownMethods: { private: "forward" },
    });
    node.respondAs(({ method, params }) => [method, ...params]);
    const ask = (method: string) =>
      post(forwardingGateway.urls["private"]!, `{"jsonrpc":"2.0","id":1,"method":"${method}","params":["a"]}`, {
        Authorization: `Bearer ${key}`,
      });
    const requestsBefore = node.requests.length;
    expect((await ask("my_method")).text).toBe('{"jsonrpc":"2.0","id":1,"result":["my_method","a"]}');
    for (const method of ["debug_traceEverything", "trace_everything", "debug_getBlockReadStates", "my method"]) {
      expect(JSON.parse((await ask(method)).text)).toMatchObject({ error: { code: -32601 } });
    }
    const publicly = (await call(forwardingGateway.url, "my_method")).error;
    expect(publicly).toEqual({ code: -32601, message: "the method my_method does not exist/is not available" });
    expect(node.requests.length).toBe(requestsBefore + 1);
  });

  it("cannot be web pages on loopback, unless their origins are configured", async () => {
    const page = { Origin: "https://dapp.example" };
    const rejectedResponse = await post(gateway.url, chainId, page);
    expect([rejectedResponse.status, rejectedResponse.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    await using open = await startTestGateway(node, { callers: { corsOrigins: ["https://dapp.example"] } });
    const servedResponse = await post(open.url, chainId, page);
    expect([servedResponse.status, servedResponse.headers.get("access-control-allow-origin")]).toEqual([
      200,
      "https://dapp.example",
    ]);
  });

  /** Waits until the log reports that a file has become invalid, and checks the message. */
  const expectReportedWrong = async (setting: string, problem: string) => {
    const wanted = (line: string) => line.includes(`${setting}: `) && line.includes(problem);
    await until(`${setting} is reported as invalid`, generousMs, () => lines.some(wanted));
    const reportedLine = lines.find(wanted) ?? "";
    lines.length = 0;
    expect(reportedLine).toContain("the previous content stays active");
    expect(reportedLine).not.toContain(entry.sha256.slice(0, 8));
  };

  it("lose their WebSocket when the key that opened it is removed", async () => {
    const path = join(folder, "keys.json5");
    await using client = await connectTestClient(gateway.urls["private"]!, { Authorization: `Bearer ${key}` });
    expect(await client.ask(chainId)).toContain("result");
    await writeFile(path, JSON.stringify({ keys: [{ ...entry, tier: "public" }] }));
    expect((await client.closed)[0]).toBe(1008);
    await writeFile(path, JSON.stringify({ keys: [entry] }));
    await until("the key is back", generousMs, async () => (await privately(`Bearer ${key}`)).status === 200);
  });

  it("follow the key file, and keep their keys if it becomes invalid", async () => {
    await writeFile(join(folder, "keys.json5"), JSON.stringify({ keys: [{ ...entry, sha256: "0".repeat(64) }] }));
    await until("the key is gone", generousMs, async () => (await privately(`Bearer ${key}`)).status === 401);
    await writeFile(join(folder, "keys.json5"), JSON.stringify({ keys: [entry] }));
    await until("the key is back", generousMs, async () => (await privately(`Bearer ${key}`)).status === 200);
    for (const [content, problem] of [
      [JSON.stringify({ keys: [{ ...entry, tier: "Paid!" }] }), "keys.0.tier"],
      [JSON.stringify({ keys: [entry, { ...entry, name: "other" }] }), "the same hash"],
      ["{ keys: [", "keys.json5"],
    ] as const) {
      await writeFile(join(folder, "keys.json5"), content);
      await expectReportedWrong("gateway.callers.keysPath", problem);
      expect((await privately(`Bearer ${key}`)).status).toBe(200);
    }
  });

  it("follow the key set file, and keep their tokens if it becomes invalid", async () => {
    const path = join(folder, "jwks.json");
    const fileBefore = await readFile(path, "utf8");
    const good = await token({ tier: "paid" }, "1h");
    expect((await privately(`Bearer ${good}`)).status).toBe(200);
    await writeFile(path, '{"keys":5}');
    await expectReportedWrong("gateway.jwt.jwksPath", "no key set");
    expect((await privately(`Bearer ${good}`)).status).toBe(200);
    const { publicKey } = await generateKeyPair("ES256");
    await writeFile(path, JSON.stringify({ keys: [await exportJWK(publicKey)] }));
    await until("the token is rejected", generousMs, async () => (await privately(`Bearer ${good}`)).status === 401);
    await writeFile(path, fileBefore);
    await until("the token is valid again", generousMs, async () => (await privately(`Bearer ${good}`)).status === 200);
  });

  it("see only their listener's methods in rpc.discover", async () => {
    const discover = '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}';
    const publicNames = namesOf(await post(gateway.urls["public"]!, discover));
    const privateNames = namesOf(await privately(`Bearer ${key}`, discover));
    const internalNames = namesOf(await post(gateway.urls["internal"]!, discover));
    expect(publicNames).toEqual(expect.arrayContaining(["eth_call", "eth_subscribe", "rpc.discover"]));
    expect(publicNames).not.toContain("net_listening");
    expect(privateNames).toContain("net_listening");
    expect(privateNames).not.toContain("debug_getBlockReadStates");
    expect(internalNames).toContain("debug_getBlockReadStates");
    expect(internalNames).not.toContain("eth_batchGetBlockByNumber");
  });

  it("need a key or a token to open a WebSocket", async () => {
    const url = gateway.urls["private"]!;
    await expect(connectTestClient(url)).rejects.toThrow("401");
    await expect(connectTestClient(url, { Authorization: "Bearer wrong" })).rejects.toThrow("401");
    for (const credential of [key, await token({ tier: "paid" }, "1h")]) {
      await using client = await connectTestClient(url, { Authorization: `Bearer ${credential}` });
      expect(await client.ask(chainId.replace("eth_chainId", "net_listening"))).toContain("result");
    }
  });

  it("keep their limits if the policy file is invalid or omits a tier in use", async () => {
    const range = [{ fromBlock: "0x1", toBlock: "0x5" }];
    for (const [content, problem] of [
      ["{ tiers: {}, ranges: { logsBlocks: 1 } }", "has no tier public"],
      ["{ ranges: { logsBlocks: 3 ", "policy.json5"],
      ['{ ranges: { logsBlocks: 3 }, limits: { batchItems: "many" } }', "limits.batchItems"],
    ] as const) {
      await writeFile(join(folder, "policy.json5"), content);
      await expectReportedWrong("gateway.policyPath", problem);
      expect((await call(gateway.urls["public"]!, "eth_getLogs", range)).error).toBeUndefined();
    }
    await expect(startTestGateway(node, { tiers: {} })).rejects.toThrow(
      "gateway.tiers has no tier public, which the public listener needs; add it, or set gateway.public.enabled to false.",
    );
  });
});
