import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { connectTestClient, type TestClient } from "#gateway/testing/test-client.ts";
import { post, startTestGateway, testSettings, type TestGateway } from "#gateway/testing/test-gateway.ts";

const call = (id: number, method: string, params: unknown = []) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const address = (at: number) => `0x${at.toString(16).padStart(40, "0")}`;
const balance = (id: number) => call(id, "eth_getBalance", [address(id), "latest"]);
const send = (id: number) => call(id, "eth_sendRawTransaction", [`0x0${id}`]);

const from = (caller: string) => ({ "X-Forwarded-For": caller });

const batchItems = 20;

describe("a node of the public family", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  let client: TestClient;
  beforeAll(async () => {
    node = await startFakeNode({ batchItems });
    const tiers = { public: limitlessTier };
    const limits = { batchItems: 200, callBytes: 10_000 };
    gateway = await startTestGateway({ ...node, batchCallsMax: batchItems }, { tiers, limits });
    client = await connectTestClient(gateway.url);
  });
  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    node.requests.length = 0;
    node.batches.length = 0;
    node.respondAs(({ params }) => params[0] ?? "0x1");
  });
  const ways: Readonly<Record<string, (body: string) => Promise<string>>> = {
    HTTP: async (body) => (await post(gateway.url, body)).text,
    WebSocket: (body) => client.ask(body),
  };

  it.each(["HTTP", "WebSocket"])(
    "gets no batch over its limit, and gets each call of a larger batch once, over %s",
    async (way) => {
      const first = way === "HTTP" ? 1 : 201;
      const ids = Array.from({ length: 90 }, (_, at) => first + at);
      const calls = ids.map((id, at) => (at === 50 ? send(5) : balance(id)));
      const responses = JSON.parse((await ways[way]?.(`[${calls.join(",")}]`)) ?? "") as {
        id: number;
        result: string;
      }[];
      const expected = ids.map((id, at) => (at === 50 ? { id: 5, result: "0x05" } : { id, result: address(id) }));
      expect(responses.map(({ id, result }) => ({ id, result }))).toEqual(expected);
      expect(Math.max(...node.batches)).toBe(batchItems);
      expect(node.requests).toHaveLength(90);
      // The transaction is sent only after the responses to the calls before it; the calls after it follow.
      const transactionAt = node.requests.findIndex(({ method }) => method === "eth_sendRawTransaction");
      expect(transactionAt).toBe(50);
    },
  );

  it("never gets a request that the gateway knows to be invalid, whatever a caller sends", async () => {
    const wrong = [
      "",
      "{",
      "[]",
      "7",
      "{}",
      '[1,"x",{},[]]',
      '{"id":1,"method":"eth_getBalance","params":[]}',
      call(1, "eth_getBalance", { address: address(1) }),
      call(1, "eth_noSuchMethod"),
      call(1, "net_peerCount"),
      call(1, "admin_peers"),
      `[${Array.from({ length: 50 }, (_, at) => call(at, "eth_noSuchMethod")).join(",")}]`,
      `[${Array.from({ length: 201 }, (_, at) => balance(at)).join(",")}]`,
      call(1, "eth_call", [{ data: `0x${"00".repeat(6_000)}` }]),
      call(1, "eth_getBalance", [address(1), "x".repeat(5_000)]),
      call(1, "eth_getLogs", [{ fromBlock: "0x1", toBlock: "0xffff" }]),
      call(1, "eth_getLogs", [{ fromBlock: "0x2", toBlock: "0x1" }]),
      call(1, "debug_traceTransaction", [`0x${"00".repeat(32)}`, { tracer: "prestateTracer" }]),
    ];
    for (const ask of Object.values(ways)) for (const body of wrong) await ask(body);
    expect([node.requests, node.batches]).toEqual([[], []]);
  });

  it("gets only as many calls from a caller as its rate limit allows, and still gets other callers' calls", async () => {
    const tier = { ...limitlessTier, requestsPerSecond: 0.001, requestBurst: 30 };
    await using limitedGateway = await startTestGateway(
      { ...node, batchCallsMax: batchItems },
      { tiers: { public: tier }, callers: { trustedProxies: ["127.0.0.1"] } },
    );
    const loud = Array.from({ length: 100 }, (_, at) => balance(1_000 + at));
    await post(limitedGateway.url, `[${loud.join(",")}]`, from("10.0.0.1"));
    for (const body of loud) await post(limitedGateway.url, body, from("10.0.0.1"));
    expect(node.requests).toHaveLength(30);
    expect((await post(limitedGateway.url, balance(2_000), from("10.0.0.2"))).text).toContain(address(2_000));
  });

  it("never closes a gateway connection first, because the gateway's idle timeout is shorter", () => {
    expect(testSettings().upstream.idleTimeoutMs).toBeLessThan(400_000);
  });

  it("has its own proof format forwarded unchanged, and its protocol versions in hexadecimal", async () => {
    const proof = {
      address: address(1),
      balance: "0x1",
      rawValue: "0xf8",
      isExist: true,
      accountProof: [{ proofNode: "0x00ab", nextBeginOffset: 0, nextEndOffset: 32 }],
      siblingLeftmostLeafProofs: [{ siblingNibble: "0x0", proof: [] }],
      storageProof: [],
    };
    node.respondAs(() => proof);
    const alone = `{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(proof)}}`;
    for (const ask of Object.values(ways)) {
      const body = call(1, "eth_getProof", [address(1), [], "latest"]);
      expect(await ask(body)).toBe(alone);
      expect(await ask(`[${body}]`)).toBe(`[${alone}]`);
    }
    const versions = { binaryVersion: "0.16.2", currentStableBlock: "0x1f", protocolVersion: "0x2" };
    node.respondAs(() => versions);
    await using trustedGateway = await startTestGateway(node, {
      methods: { debug_protocolVersion: { audience: "public" } },
    });
    expect(JSON.parse((await post(trustedGateway.url, call(1, "debug_protocolVersion"))).text)).toMatchObject({
      result: versions,
    });
  });
});
