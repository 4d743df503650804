import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient, type TestClient } from "#gateway/testing/test-client.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const revert = { code: 3, message: "execution reverted: no", data: "0x08c379a0" };

/** Message and its response: an error by code, text and returned id, or a result. */
type Row = readonly [body: string, answer: string];

function error(id: string, code: number, message: string, data?: string): string {
  const more = data === undefined ? "" : `,"data":${JSON.stringify(data)}`;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}${more}}}`;
}

const call = (method: string, params?: string, id = "1") =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}"${params === undefined ? "" : `,"params":${params}`}}`;

/** Rows that apply to any call: alone or in a batch, over HTTP or WebSocket. */
const everywhere: readonly Row[] = [
  ['{"id":5,"method":"eth_chainId"}', error("5", -32600, "invalid request")],
  ['{"jsonrpc":"1.0","id":"v","method":"eth_chainId"}', error('"v"', -32600, "invalid request")],
  ['{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}', error("null", -32600, "invalid request")],
  ['{"jsonrpc":"2.0","id":[],"method":"eth_chainId"}', error("null", -32600, "invalid request")],
  ["7", error("null", -32600, "invalid request")],
  ["{}", error("null", -32600, "invalid request")],
  [call("eth_nothing"), error("1", -32601, "the method eth_nothing does not exist/is not available")],
  [
    call("eth_batchGetBlockByNumber", "[]"),
    error("1", -32601, "the method eth_batchGetBlockByNumber does not exist/is not available"),
  ],
  [
    call("eth_batchGetTransactionByHash"),
    error("1", -32601, "the method eth_batchGetTransactionByHash does not exist/is not available"),
  ],
  [
    call("eth_batchGetTransactionReceipt"),
    error("1", -32601, "the method eth_batchGetTransactionReceipt does not exist/is not available"),
  ],
  [
    call("eth_batchGetBlockReceipts"),
    error("1", -32601, "the method eth_batchGetBlockReceipts does not exist/is not available"),
  ],
  [call("\\u0065th_né"), error("1", -32601, "the method eth_né does not exist/is not available")],
  [call("net_peerCount"), error("1", -32601, "the method net_peerCount does not exist/is not available")],
  [call("eth_call", '{"to":null}'), error("1", -32602, "non-array args")],
  [call("eth_call", '"text"'), error("1", -32602, "non-array args")],
  [call("eth_coinbase", "null"), '{"jsonrpc":"2.0","id":1,"result":"0x0"}'],
  [call("eth_coinbase", undefined, "null"), '{"jsonrpc":"2.0","id":null,"result":"0x0"}'],
  [call("eth_accounts", "[]", "9007199254740993"), '{"jsonrpc":"2.0","id":9007199254740993,"result":[]}'],
  [call("eth_syncing", "[]", "9007199254740993"), '{"jsonrpc":"2.0","id":9007199254740993,"result":false}'],
  [call("eth_syncing", "[]", '"é\\u00e9"'), '{"jsonrpc":"2.0","id":"é\\u00e9","result":false}'],
  [call("eth_estimateGas", '[{"to":null}]'), error("1", revert.code, revert.message, revert.data)],
  [call("eth_getProof", "[]"), error("1", -32002, "request timed out")],
  [
    call("eth_getLogs", '[{"fromBlock":"0x1","toBlock":"0xfa"}]'),
    error(
      "1",
      -32602,
      "block range too large: 250 blocks requested, limited to 100 blocks. Try with this block range [0x1, 0x64].",
    ),
  ],
  [call("eth_getLogs", '[{"fromBlock":"0x2","toBlock":"0x1"}]'), error("1", -32602, "invalid block range params")],
];

/** Rows about subscriptions, which differ. */
const overHttp: readonly Row[] = [
  [call("eth_subscribe", '["newHeads"]'), error("1", -32601, "notifications not supported")],
  [call("eth_unsubscribe", '["0x1"]'), error("1", -32601, "notifications not supported")],
];
const overWebSocket: readonly Row[] = [
  [call("eth_subscribe", '["né"]'), error("1", -32601, 'no "né" subscription in eth namespace')],
  [call("eth_subscribe", '["syncing"]'), error("1", -32601, 'no "syncing" subscription in eth namespace')],
  [
    call("eth_subscribe", '["logs",{"topics":"x"}]'),
    error("1", -32602, "invalid topics: expected at most 4, each null, a 32-byte hash or an array of at most 1000"),
  ],
  [call("eth_unsubscribe", '["0x1"]'), error("1", -32000, "subscription not found")],
];

/** Rows about whole messages. */
const messages: readonly Row[] = [
  ["{", error("null", -32700, "parse error")],
  ["[", error("null", -32700, "parse error")],
  ["", error("null", -32700, "parse error")],
  ["[]", error("null", -32600, "empty batch")],
  [
    `[${Array.from({ length: 1_001 }, () => "1").join(",")}]`,
    error("null", -32600, "batch too large: limited to 1000 calls"),
  ],
];

/** A notification, which gets no response. */
const note = '{"jsonrpc":"2.0","method":"eth_syncing"}';

describe("the JSON-RPC semantics that clients rely on", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  let client: TestClient;
  beforeAll(async () => {
    node = await startFakeNode();
    node.respondAs(({ method, raw }, response) => {
      const id = /"id":(.*?),"method"/.exec(raw)?.[1] ?? "null";
      if (method === "eth_estimateGas") response.end(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(revert)}}`);
      else if (method !== "eth_getProof") response.end(`{"jsonrpc":"2.0","id":${id},"result":false}`);
      return responseWritten;
    });
    gateway = await startTestGateway(node, { methods: { eth_getProof: { timeoutMs: 100 } } });
    client = await connectTestClient(gateway.url);
  });
  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  it.each([...everywhere, ...overHttp, ...messages])("individually over HTTP: %.120s", async (body, response) => {
    const { status, headers, text } = await post(gateway.url, body);
    expect([status, headers.get("content-type"), text]).toEqual([200, "application/json", response]);
  });

  it("in one batch over HTTP", async () => {
    const rows = [...everywhere, ...overHttp];
    const { status, text } = await post(gateway.url, `[${[note, ...rows.map(([body]) => body)].join(",")}]`);
    expect([status, text]).toEqual([200, `[${rows.map(([, response]) => response).join(",")}]`]);
  });

  it.each([...everywhere, ...overWebSocket, ...messages])(
    "individually over WebSocket: %.120s",
    async (body, response) => {
      expect(await client.ask(body)).toBe(response);
    },
  );

  it("in one batch over WebSocket", async () => {
    const rows = [...everywhere, ...overWebSocket];
    const responses = rows.map(([, response]) => response);
    expect(await client.ask(`[${rows.map(([body]) => body).join(",")}]`)).toBe(`[${responses.join(",")}]`);
  });

  it("notifications get no response, in a batch or not", async () => {
    for (const body of [note, `[${note},${note}]`]) {
      expect(await post(gateway.url, body)).toMatchObject({ status: 200, text: "" });
    }
    const textsBefore = client.texts.length;
    const asked = node.requests.length;
    client.socket.send(note);
    await until("the node has it", generousMs, () => node.requests.length > asked);
    expect(await client.ask(call("eth_mining"))).toBe('{"jsonrpc":"2.0","id":1,"result":false}');
    expect(client.texts.length).toBe(textsBefore + 1);
  });

  it("a rate limit returns 429 for a single call, and an error per item in a batch or over WebSocket", async () => {
    const tier = {
      requestsPerSecond: 0.001,
      requestBurst: 2,
      computeUnitsPerSecond: 1,
      computeUnitBurst: 1e6,
      concurrency: 9,
    };
    await using limitedGateway = await startTestGateway(node, { tiers: { public: tier } });
    const batch = await post(
      limitedGateway.url,
      `[${call("eth_mining")},${call("eth_mining")},${call("eth_mining", "[]", "3")}]`,
    );
    const items = JSON.parse(batch.text) as { id: number; error?: { code: number; message: string } }[];
    expect([batch.status, items.map((item) => item.error?.code)]).toEqual([200, [undefined, undefined, -32005]]);
    const alone = await post(limitedGateway.url, call("eth_mining"));
    expect([alone.status, alone.headers.get("retry-after")]).toEqual([429, "1000"]);
    expect(alone.text).toBe(error("1", -32005, "rate limit exceeded; try again in 1000 s"));
    const offFastPath = await post(limitedGateway.url, call("eth_mining"), { "X-Other": "1" });
    expect([offFastPath.status, offFastPath.headers.get("retry-after"), offFastPath.text]).toEqual([
      429,
      "1000",
      alone.text,
    ]);
    await using socket = await connectTestClient(limitedGateway.url);
    expect(await socket.ask(call("eth_mining"))).toBe(error("1", -32005, "rate limit exceeded; try again in 1000 s"));
  });
});
