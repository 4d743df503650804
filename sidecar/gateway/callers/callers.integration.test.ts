import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "../testing/fake-node.ts";
import { call, post, startTestGateway, until, type TestGateway } from "../testing/test-gateway.ts";

const key = "a-key-of-the-operator";
const entry = { name: "ops", sha256: createHash("sha256").update(key).digest("hex"), tier: "paid" };
const chainId = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

describe("callers", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  let folder: string;
  let token: (claims: object, expires: string) => Promise<string>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "gatehouse-callers-"));
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
    gateway = await startTestGateway(node, {
      private: { enabled: true },
      internal: { enabled: true },
      callers: { keysPath: join(folder, "keys.json5") },
      jwt: { jwksPath: join(folder, "jwks.json") },
      policyPath: join(folder, "policy.json5"),
    });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const privately = (authorization: string, body = chainId) =>
    post(gateway.urls["private"]!, body, authorization === "" ? {} : { Authorization: authorization });

  it("reach the private listener with a key or a token that are good, and learn nothing else", async () => {
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
      const answer = await privately(authorization);
      expect(answer.status).toBe(401);
      expect(answer.text).toContain("an API key or a token is needed");
    }
  });

  it("have the methods of their listener", async () => {
    expect((await call(gateway.urls["public"]!, "net_listening")).error?.code).toBe(-32601);
    expect((await privately(`Bearer ${key}`, chainId.replace("eth_chainId", "net_listening"))).text).toContain(
      "result",
    );
    expect(
      (await privately(`Bearer ${key}`, chainId.replace("eth_chainId", "debug_getBlockReadStates"))).text,
    ).toContain("-32601");
    expect((await call(gateway.urls["internal"]!, "debug_getBlockReadStates")).error).toBeUndefined();
  });

  it("reach no tracer and no wider range by an unlisted name, and make no series of metrics by one", async () => {
    await using forwarding = await startTestGateway(node, {
      internal: { enabled: true },
      unknownMethods: { internal: "forward" },
    });
    const url = forwarding.urls["internal"]!;
    expect((await call(url, "my_secretName")).error).toBeUndefined();
    expect((await call(url, "debug_traceEverything")).error?.code).toBe(-32601);
    expect((await call(url, "trace_everything")).error?.code).toBe(-32601);
    const wide = [{ fromBlock: "0x0", toBlock: "0xffff" }];
    expect((await call(url, "eth_newFilter", wide)).error?.message).toContain("limited to 100 blocks");
    const metrics = await forwarding.metrics.metrics();
    expect(metrics).not.toContain("my_secretName");
    expect(metrics).toContain('method="unlisted"');
  });

  it("get unlisted methods on the private listener where settings forward them, and never a tracer", async () => {
    await using forwarding = await startTestGateway(node, {
      private: { enabled: true },
      callers: { keysPath: join(folder, "keys.json5") },
      unknownMethods: { private: "forward" },
    });
    node.answer(({ method, params }) => [method, ...params]);
    const ask = (method: string) =>
      post(forwarding.urls["private"]!, `{"jsonrpc":"2.0","id":1,"method":"${method}","params":["a"]}`, {
        Authorization: `Bearer ${key}`,
      });
    const before = node.requests.length;
    expect((await ask("my_method")).text).toBe('{"jsonrpc":"2.0","id":1,"result":["my_method","a"]}');
    for (const method of ["debug_traceEverything", "trace_everything", "debug_getBlockReadStates", "my method"]) {
      expect(JSON.parse((await ask(method)).text)).toMatchObject({ error: { code: -32601 } });
    }
    const publicly = (await call(forwarding.url, "my_method")).error;
    expect(publicly).toEqual({ code: -32601, message: "the method my_method does not exist/is not available" });
    expect(node.requests.length).toBe(before + 1);
  });

  it("are refused by the internal listener when their Host or Origin is foreign", async () => {
    const url = gateway.urls["internal"]!;
    expect((await post(url, chainId)).status).toBe(200);
    expect((await post(url, chainId, { Origin: "https://evil.example" })).status).toBe(403);
    const { hostname, port } = new URL(url);
    const { rawExchange } = await import("../testing/raw-exchange.ts");
    const rebound = `POST / HTTP/1.1\r\nHost: evil.example:${port}\r\nContent-Type: application/json\r\nContent-Length: ${chainId.length}\r\n\r\n${chainId}`;
    expect(
      await rawExchange(`http://${hostname}:${port}`, [Buffer.from(rebound)], { expected: 1, quietMs: 10 }),
    ).toContain("403");
  });

  it("come and go with the key file, and keep their keys when it turns bad", async () => {
    await writeFile(join(folder, "keys.json5"), JSON.stringify({ keys: [{ ...entry, sha256: "0".repeat(64) }] }));
    await until("the key is gone", async () => (await privately(`Bearer ${key}`)).status === 401);
    await writeFile(join(folder, "keys.json5"), JSON.stringify({ keys: [entry] }));
    await until("the key is back", async () => (await privately(`Bearer ${key}`)).status === 200);
  });

  it("keep their limits when the policy file is wrong, and a listener never lacks its tier", async () => {
    await writeFile(join(folder, "policy.json5"), "{ tiers: {}, ranges: { logsBlocks: 1 } }");
    await writeFile(join(folder, "policy.json5"), "{ tiers: {}, ranges: { logsBlocks: 3 ");
    expect((await call(gateway.urls["public"]!, "eth_coinbase")).result).toBe("0x0");
    await expect(startTestGateway(node, { public: { tier: "gone" } })).rejects.toThrow(
      'gateway.public.tier is "gone", which is none of the tiers (public, paid, internal)',
    );
  });

  it("have other limits as soon as the policy file says so, and no call fails meanwhile", async () => {
    node.answer(({ method }) => method);
    const before = Array.from({ length: 500 }, () => call(gateway.urls["internal"]!, "eth_syncing"));
    await writeFile(
      join(folder, "policy.json5"),
      '{ ranges: { logsBlocks: 7 }, methods: { eth_coinbase: { audience: "internal" }, eth_mining: { audience: "nobody" }, my_own: { audience: "public" } } }',
    );
    const answers = await Promise.all(before);
    expect(answers.filter(({ result }) => result !== "eth_syncing")).toEqual([]);
    const url = gateway.urls["public"]!;
    await until("the policy is in force", async () => (await call(url, "eth_coinbase")).error?.code === -32601);
    expect((await call(url, "my_own")).result).toBe("my_own");
    for (const listener of Object.values(gateway.urls).filter((one) => one !== gateway.urls["private"])) {
      expect((await call(listener, "eth_mining")).error?.code).toBe(-32601);
    }
    const range = [{ fromBlock: "0x1", toBlock: "0x8" }];
    expect((await call(url, "eth_getLogs", range)).error?.message).toContain("limited to 7 blocks");
    await writeFile(join(folder, "policy.json5"), "{ rateLimit: { enabled: false } }");
    await until("the fallback cap is in force", async () => {
      const { error } = await call(url, "eth_getLogs", [{ fromBlock: "0x0", toBlock: "0x2710" }]);
      return error?.message.includes("10001 blocks requested, limited to 10000 blocks") === true;
    });
  });
});
