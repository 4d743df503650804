import { describe, expect, it } from "vitest";
import { responseWritten, type BatchHabit, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { post, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

type Answer = Readonly<{ id: unknown; result?: unknown; error?: Readonly<{ code: number; message: string }> }>;

const addressOf = (at: number) => `0x${at.toString(16).padStart(40, "0")}`;
const balance = (at: number, id: string | number = at) =>
  `{"jsonrpc":"2.0","id":${id},"method":"eth_getBalance","params":["${addressOf(at)}","latest"]}`;
const balances = (count: number, from = 1) => Array.from({ length: count }, (_, place) => balance(from + place));
const resultsOf = (count: number, from = 1) =>
  Array.from({ length: count }, (_, place) => ({
    jsonrpc: "2.0",
    id: from + place,
    result: addressOf(from + place),
  }));
const reverted = (entry: string, at: number) =>
  at % 2 === 0 ? entry : entry.replace(/"result":.*/, '"error":{"code":3,"message":"execution reverted: no batch"}}');
const send = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"eth_sendRawTransaction","params":["0x0${id}"]}`;
const trace = (id: number) =>
  `{"jsonrpc":"2.0","id":${id},"method":"debug_traceTransaction","params":["0x${String(id).padStart(64, "0")}"]}`;
const foreign = (entry: string) => entry.replace(/"id":\d+/, '"id":999');

describe("a client batch at the node", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  const tiers = { public: limitlessTier };
  const restartGateway = useGateway({ tiers }, (started) => {
    ({ node, gateway } = started);
    node.respondAs(({ params }) => params[0]);
  });
  const restart = (settings: Record<string, object> = {}, limits: Parameters<typeof restartGateway>[1] = {}) =>
    restartGateway({ tiers, ...settings }, limits);
  const ask = async (calls: readonly string[], headers: Record<string, string> = {}) =>
    JSON.parse((await post(gateway.url, `[${calls.join(",")}]`, headers)).text) as Answer[];

  it("is one batch of the calls missing from the cache, without duplicates", async () => {
    expect(await ask(balances(40))).toEqual(resultsOf(40));
    expect(node.batches).toEqual([40]);
    expect(await ask([...balances(50), balance(45, '"again"')])).toEqual([
      ...resultsOf(50),
      { jsonrpc: "2.0", id: "again", result: addressOf(45) },
    ]);
    expect(node.batches).toEqual([40, 10]);
    expect(await ask(balances(50))).toEqual(resultsOf(50));
    expect(node.requests).toHaveLength(50);
  });

  it("is split into batches of the configured size, or into single calls", async () => {
    await restart({ upstream: { batchItems: 3 } });
    expect(await ask(balances(32))).toEqual(resultsOf(32));
    expect(Math.max(...node.batches)).toBe(3);
    expect(node.batches.length).toBeGreaterThanOrEqual(10);
    await restart({ upstream: { batchItems: 1 } });
    expect(await ask(balances(32))).toEqual(resultsOf(32));
    expect(node.batches).toEqual([]);
  });

  it("keeps duplicate IDs, and IDs that a node might reformat", async () => {
    const ids = ["7", "7", '"<a>"', '"\\u0061"', "null", "1e2", "12345678901234567890"];
    const { text } = await post(gateway.url, `[${ids.map((id, at) => balance(at, id)).join(",")}]`);
    const responses = ids.map((id, at) => `{"jsonrpc":"2.0","id":${id},"result":"${addressOf(at)}"}`);
    expect(text).toBe(`[${responses.join(",")}]`);
  });

  it("returns the node's error for each call, and is still sent as a batch", async () => {
    node.respondToBatches((entries) => `[${entries.map(reverted).join(",")}]`);
    for (const from of [1, 11]) {
      const responses = await ask(balances(10, from));
      expect(responses.map(({ error }) => error?.code)).toEqual(Array.from({ length: 5 }, () => [undefined, 3]).flat());
    }
    expect(node.batches).toEqual([10, 10]);
  });

  const wellMeant: Readonly<Record<string, BatchHabit>> = {
    "in a different order": (entries) => `[${entries.toReversed().join(",")}]`,
    "with white space": (entries) => ` [\n ${entries.join(" ,\n")} ]\n`,
    "with its ids last": (entries) =>
      `[${entries.map((entry) => entry.replace(/"id":(\d+),(.*)\}$/, '$2,"id":$1}')).join(",")}]`,
  };
  it.each(Object.keys(wellMeant))("is handled correctly if the node responds %s", async (name) => {
    node.respondToBatches(wellMeant[name]);
    for (const from of [1, 21]) expect(await ask(balances(20, from))).toEqual(resultsOf(20, from));
    expect(node.batches).toEqual([20, 20]);
    expect(node.requests).toHaveLength(40);
  });

  const odd: Readonly<Record<string, BatchHabit>> = {
    "one error for all": () =>
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Batch requests are disabled"}}',
    "an error in an array": () => '[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}]',
    "an empty array": () => "[]",
    "an error about the batch for each call": (entries) =>
      `[${entries.map((entry) => entry.replace(/"result":.*/, '"error":{"code":-32005,"message":"batch limit 10 exceeded"}}')).join(",")}]`,
    "some responses missing": (entries) => `[${entries.filter((_, at) => at % 3 > 0).join(",")}]`,
    "unknown ids": (entries) => `[${entries.map(foreign).join(",")}]`,
    "a duplicate id": ([first, , ...rest]) => `[${[first, first, ...rest].join(",")}]`,
    "a truncated response": (entries) => `[${entries.join(",")}]`.slice(0, 400),
    "invalid JSON": () => "<h1>It works!</h1>",
    nothing: () => "",
    "a string": () => '"0x1"',
    "entries that are not objects": (entries) => `[${entries.map(() => "1").join(",")}]`,
  };
  it.each(Object.keys(odd))(
    "is sent call by call if the node responds with %s, and so is the next batch",
    async (name) => {
      node.respondToBatches(odd[name]);
      expect(await ask(balances(20))).toEqual(resultsOf(20));
      expect(node.batches).toEqual([20]);
      expect(await ask(balances(20, 21))).toEqual(resultsOf(20, 21));
      // After a batch with missing responses, calls are sent separately for a while. The cache has only the valid responses.
      expect(node.batches).toEqual(name.startsWith("an error about") ? [20, 20] : [20]);
      const requestsBefore = node.requests.length;
      expect(await ask(balances(40))).toEqual(resultsOf(40));
      expect(node.requests).toHaveLength(requestsBefore);
    },
  );

  it.each([400, 405, 413, 415, 500])("is sent call by call if the node responds with HTTP %i", async (status) => {
    node.respondToBatches(() => status);
    expect(await ask(balances(20))).toEqual(resultsOf(20));
    expect(await ask(balances(20, 21))).toEqual(resultsOf(20, 21));
    expect(node.batches).toEqual([20]);
  });

  it.each([
    ["in plain text", "slow down"],
    ["as a JSON-RPC error", '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"too many requests"}}'],
  ])("is not retried call by call if the node rejects it %s because of its rate limit", async (_, body) => {
    node.respondAs((_call, response) => {
      response.writeHead(429).end(body);
      return responseWritten;
    });
    const responses = await ask(balances(20));
    expect(new Set(responses.map(({ error }) => error?.message))).toEqual(
      new Set(["rate limit exceeded: the node rate-limits calls; try again later"]),
    );
    expect(node.batches).toEqual([20]);
    expect(node.requests).toHaveLength(1);
  });

  it("is served completely by a node with geth's limits, whichever limit it hits", async () => {
    await restart({}, { batchItems: 10 });
    expect(await ask(balances(40))).toEqual(resultsOf(40));
    await restart({}, { batchResponseBytes: 500 });
    expect(await ask(balances(40))).toEqual(resultsOf(40));
    await restart({}, { bodyBytes: 1_000 });
    expect(await ask(balances(40))).toEqual(resultsOf(40));
  });

  it("is read up to a limit; calls beyond it are sent individually, and the next batches are smaller", async () => {
    await restart({ upstream: { batchResponseBytes: 1_000_000 } });
    const long = "x".repeat(300_000);
    node.respondAs(({ params }) => `${String(params[0])}${long}`);
    const expected = (from: number) => resultsOf(10, from).map((one) => ({ ...one, result: `${one.result}${long}` }));
    expect(await ask(balances(10))).toEqual(expected(1));
    expect(node.batches).toEqual([10]);
    expect(await ask(balances(10, 11))).toEqual(expected(11));
    expect(Math.max(...node.batches.slice(1))).toBeLessThanOrEqual(3);
  });

  it("is not reduced for others if one caller's connection exceeds its memory limit", async () => {
    await restart({ memory: { connectionBytes: 300_000 } });
    const long = "x".repeat(100_000);
    node.respondAs(({ params }) => `${String(params[0])}${long}`);
    expect(await ask(balances(10))).toHaveLength(10);
    const batchesBefore = node.batches.length;
    node.respondAs(({ params }) => params[0]);
    expect(await ask(balances(10, 11))).toEqual(resultsOf(10, 11));
    // Three responses of that length fit.
    expect(Math.max(...node.batches.slice(batchesBefore))).toBeGreaterThan(3);
  });

  const spoiling: Readonly<Record<string, () => void>> = {
    "a long response": () => node.respondAs(() => "x".repeat(300_000)),
    "a slow call": () => node.respondAs(() => responseWritten),
    "a call that the node cannot parse": () =>
      node.respondToBatches(() => '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}'),
  };
  it.each(Object.keys(spoiling))("is not reduced for others if one caller requests %s", async (name) => {
    await restart({
      upstream: { batchResponseBytes: 1_000_000 },
      methods: { eth_getBalance: { timeoutMs: 500 } },
      callers: { trustedProxies: ["127.0.0.1"] },
    });
    spoiling[name]?.();
    await ask(balances(10), { "X-Forwarded-For": "10.0.0.1" });
    node.respondAs(({ params }) => params[0]);
    node.respondToBatches(undefined);
    const batchesBefore = node.batches.length;
    expect(await ask(balances(20, 21), { "X-Forwarded-For": "10.0.0.2" })).toEqual(resultsOf(20, 21));
    expect(node.batches.slice(batchesBefore)).toEqual([20]);
    expect(await ask(balances(20, 41), { "X-Forwarded-For": "10.0.0.1" })).toEqual(resultsOf(20, 41));
    expect(Math.max(0, ...node.batches.slice(batchesBefore + 1))).toBeLessThanOrEqual(3);
  });

  it("fails call by call if the node times out, and the next batch is sent call by call", async () => {
    await restart({ methods: { eth_getBalance: { timeoutMs: 200 } } });
    node.respondAs(() => responseWritten);
    const responses = await ask(balances(5));
    expect(responses.map(({ error }) => error?.message)).toEqual(Array.from({ length: 5 }, () => "request timed out"));
    node.respondAs(({ params }) => params[0]);
    expect(await ask(balances(5, 11))).toEqual(resultsOf(5, 11));
    expect(node.batches).toEqual([5]);
  });

  it("is resent if the node closed the keep-alive connection", async () => {
    await restart({ upstream: { connections: 1 } });
    await ask([balance(100)]);
    node.respondAs((_, response) => {
      node.respondAs(({ params }) => params[0]);
      response.socket?.destroy();
      return responseWritten;
    });
    expect(await ask(balances(5))).toEqual(resultsOf(5));
    expect(node.batches).toEqual([5, 5]);
  });

  it("sends transactions one at a time, each after the previous response, and keeps reads in order relative to them", async () => {
    const order: string[] = [];
    node.respondAs(({ id, method }, response) => {
      order.push(`${method} ${String(id)} asked`);
      setTimeout(() => {
        order.push(`${method} ${String(id)} answered`);
        response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":"0x1"}`);
      }, 20);
      return responseWritten;
    });
    const responses = await ask([balance(1), send(2), send(3), balance(4)]);
    expect(responses.map(({ id, result }) => [id, result])).toEqual([1, 2, 3, 4].map((id) => [id, "0x1"]));
    const methods = ["eth_getBalance 1", "eth_sendRawTransaction 2", "eth_sendRawTransaction 3", "eth_getBalance 4"];
    expect(order).toEqual(methods.flatMap((one) => [`${one} asked`, `${one} answered`]));
    expect(node.batches).toEqual([]);
  });

  it("sends heavy calls individually", async () => {
    await ask([trace(1), balance(2), trace(3), balance(4)]);
    expect(node.batches).toEqual([2]);
  });

  it("uses as much of its caller's concurrency as single calls", async () => {
    await restart({ tiers: { public: { ...limitlessTier, concurrency: 4 } } });
    expect(await ask(balances(300))).toEqual(resultsOf(300));
    expect(await ask(balances(300, 301))).toEqual(resultsOf(300, 301));
  });

  it("is cancelled at the node if its client disconnects, and leaves no call in flight", async () => {
    node.respondAs(() => responseWritten);
    const gone = new AbortController();
    const asked = fetch(gateway.url, {
      method: "POST",
      body: `[${balances(20).join(",")}]`,
      headers: { "Content-Type": "application/json" },
      signal: gone.signal,
    });
    await until("the batch is at the node", generousMs, () => node.batches.length === 1);
    gone.abort();
    await expect(asked).rejects.toThrow("aborted");
    const inFlight = async () => {
      const { values } = await gateway.metrics.getSingleMetric("gatehouse_gateway_calls_in_flight")!.get();
      return values[0]?.value;
    };
    await until("no call is in flight", generousMs, async () => (await inFlight()) === 0);
  });

  it("works the same over WebSocket", async () => {
    await using client = await connectTestClient(gateway.url);
    expect(JSON.parse(await client.ask(`[${balances(20).join(",")}]`))).toEqual(resultsOf(20));
    expect(node.batches).toEqual([20]);
  });
});
