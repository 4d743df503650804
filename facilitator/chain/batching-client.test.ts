import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { pause } from "#daemon/time.ts";
import { generousMs } from "#daemon/testing/until.ts";
import { createBatchingClient, limitCallTime } from "./batching-client.ts";
import { createHttpTransport } from "./node-transport.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

type Request = { id: number; method: string; params: unknown[] };

/** A node that responds with `respond`'s text, and the request bodies it received. */
async function startNode(respond: (body: Request | Request[]) => string | undefined, status = 200) {
  const bodies: (Request | Request[])[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Request | Request[];
    bodies.push(body);
    authorizations.push(request.headers.authorization);
    const reply = respond(body);
    if (reply !== undefined) response.writeHead(status).end(reply);
  });
  const local = await listenLocally(server);
  const url = `${local.url}/rpc?key=1`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, bodies, authorizations, [Symbol.asyncDispose]: close };
}

const respondToAll = (body: Request | Request[]) => {
  const one = ({ id, method }: Request) => ({ jsonrpc: "2.0", id, result: method });
  return JSON.stringify(Array.isArray(body) ? body.map(one).toReversed() : one(body));
};

const client = (url: string, timeoutMs = generousMs, batchCallsMax?: number) =>
  createBatchingClient(
    { timeoutMs, batchCallsMax },
    { transport: createHttpTransport({ url, timeoutMs, connectionsMax: 6 }), observe: () => undefined },
  );

test("sends the credentials in the node's URL", async () => {
  await using node = await startNode(respondToAll);
  await using rpc = client(node.url.replace("//", "//user:p%40ss@"));
  expect(await rpc.call("a", [])).toEqual({ ok: true, result: "a" });
  expect(node.authorizations).toEqual([`Basic ${btoa("user:p@ss")}`]);
});

test("sends one call as a request, and concurrent calls as one batch", async () => {
  await using node = await startNode(respondToAll);
  await using rpc = client(node.url);
  expect(await rpc.call("a", [])).toEqual({ ok: true, result: "a" });
  const responses = await Promise.all(["b", "c", "d"].map((method) => rpc.call(method, [])));
  expect(responses.map((response) => response.ok && response.result)).toEqual(["b", "c", "d"]);
  expect(node.bodies).toEqual([
    { jsonrpc: "2.0", id: 0, method: "a", params: [] },
    ["b", "c", "d"].map((method, id) => ({ jsonrpc: "2.0", id, method, params: [] })),
  ]);
});

test.each([
  [undefined, [100, 100, 50]],
  [90, [90, 90, 70]],
])("splits calls into batches of at most %s", async (batchCallsMax, sizes) => {
  await using node = await startNode(respondToAll);
  await using rpc = client(node.url, undefined, batchCallsMax);
  await Promise.all(Array.from({ length: 250 }, (_, index) => rpc.call(`m${index}`, [])));
  expect(node.bodies.map((body) => (Array.isArray(body) ? body.length : 1))).toEqual(sizes);
});

test("returns a JSON-RPC error as a value", async () => {
  const error = { code: 3, message: "execution reverted", data: "0x" };
  await using node = await startNode(() => JSON.stringify({ jsonrpc: "2.0", id: 0, error }));
  await using rpc = client(node.url);
  expect(await rpc.call("eth_call", [])).toEqual({ ok: false, error });
});

test.each([
  ["HTML", "<html>", 200, "bad_answer", "the node returned something other than JSON"],
  ["HTTP 503", "busy", 503, "bad_answer", "the node returned HTTP 503 instead of a JSON-RPC response"],
  ["JSON other than a response", "{}", 200, "bad_answer", "the node returned something other than a JSON-RPC response"],
  [
    "an error for the whole batch",
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"limit"}}',
    200,
    "rejected",
    "the node returned an error: limit (code -32005)",
  ],
  [
    "a response to another call",
    '{"jsonrpc":"2.0","id":9,"result":1}',
    200,
    "bad_answer",
    "the node did not respond to eth_chainId",
  ],
  ["no response in time", undefined, 200, "timeout", "the node did not respond within 200 ms"],
])("throws a ChainError for %s", async (_, response, status, fault, message) => {
  await using node = await startNode(() => response, status);
  // On a busy machine, a response may take longer than a short limit.
  await using rpc = client(node.url, response === undefined ? 200 : 20_000);
  const error = { name: "ChainError", code: "chain_unavailable", fault, message };
  await expect(rpc.call("eth_chainId", [])).rejects.toMatchObject(error);
});

test("throws a ChainError without the URL for an unreachable node", async () => {
  const node = await startNode(respondToAll);
  await node[Symbol.asyncDispose]();
  await using rpc = client(node.url);
  await expect(rpc.call("eth_chainId", [])).rejects.toMatchObject({
    fault: "unreachable",
    message: "the node can't be reached (ECONNREFUSED)",
  });
});

const createVerification = (caller: string, signal?: AbortSignal) => ({ line: "verifying", caller, signal }) as const;

test("starts a call's timeout when the call is made, before it is queued", async () => {
  await using node = await startNode(() => undefined);
  await using rpc = client(node.url, 500);
  const otherCalls = Array.from({ length: 4_000 }, (_, at) => rpc.call("eth_call", [at], createVerification("flood")));
  const lastCall = rpc.call("eth_chainId", []);
  const outcomes = await Promise.allSettled([lastCall, ...otherCalls]);
  expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
  // Queued calls were cancelled together with those in flight; sent one at a time, they would have added 40 requests.
  expect(node.bodies.length).toBeLessThan(20);
  await expect(lastCall).rejects.toMatchObject({ fault: "timeout", message: "the node did not respond within 500 ms" });
});

test("sends calls for tracking and settlements while all verification requests hang", async () => {
  await using node = await startNode((body) =>
    JSON.stringify(body).includes("eth_call") ? undefined : respondToAll(body),
  );
  await using rpc = client(node.url, 20_000);
  const disconnection = new AbortController();
  const calls = Array.from({ length: 2_000 }, () =>
    rpc.call("eth_call", [], createVerification("flood", disconnection.signal)),
  );
  await new Promise((resolve) => setImmediate(resolve));
  expect(await rpc.call("eth_chainId", [])).toEqual({ ok: true, result: "eth_chainId" });
  expect(await rpc.call("eth_getBalance", [], { line: "settling", caller: "" })).toMatchObject({ ok: true });
  disconnection.abort();
  await Promise.allSettled(calls);
});

test("rejects calls beyond 20,000 in a queue", async () => {
  await using node = await startNode(() => undefined);
  await using rpc = client(node.url, 300);
  const calls = Array.from({ length: 20_001 }, () => rpc.call("eth_call", [], createVerification("flood")));
  const ownCall = rpc.call("eth_chainId", []);
  const reasons = (await Promise.allSettled([...calls, ownCall])).map((end) =>
    end.status === "rejected" ? end.reason : {},
  );
  const rejections = reasons.filter(({ fault }) => fault === "rejected");
  expect(rejections.map(({ message }) => message)).toEqual([
    "20000 calls are already queued for the node, which is the limit",
  ]);
  expect(reasons.at(-1)).toMatchObject({ fault: "timeout" });
});

test("serves callers round-robin despite one caller's thousand calls", async () => {
  await using node = await startNode(respondToAll);
  await using rpc = client(node.url, 20_000);
  const flood = Array.from({ length: 1_000 }, () => rpc.call("flood", [], createVerification("a")));
  const otherCall = rpc.call("other", [], createVerification("b"));
  await Promise.all([...flood, otherCall]);
  expect(JSON.stringify(node.bodies[0])).toContain('"other"');
});

test("drops queued calls of a disconnected caller", async () => {
  const held = Promise.withResolvers<void>();
  await using node = await startNode((body) =>
    JSON.stringify(body).includes("hang") ? undefined : respondToAll(body),
  );
  await using rpc = client(node.url, 20_000);
  const disconnection = new AbortController();
  const hangingCalls = Array.from({ length: 1_000 }, () =>
    rpc.call("hang", [], createVerification("a", disconnection.signal)),
  );
  const otherCall = rpc.call("other", [], createVerification("a"));
  setImmediate(() => setImmediate(held.resolve));
  await held.promise;
  disconnection.abort();
  for (const { status } of await Promise.allSettled(hangingCalls)) expect(status).toBe("rejected");
  // The hung requests don't count any more: they were cancelled.
  expect(await otherCall).toEqual({ ok: true, result: "other" });
  expect(node.bodies.flat().filter(({ method }) => method === "hang").length).toBeLessThanOrEqual(400);
});

test("cancels a check at its own deadline when the node hangs, while other calls keep waiting", async () => {
  await using node = await startNode(() => undefined);
  await using rpc = client(node.url, 400);
  const check = limitCallTime(rpc, { deadlineMs: 50 }, { pause });
  await expect(check.call("a", [])).rejects.toMatchObject({
    code: "chain_unavailable",
    fault: "timeout",
    message: "the node did not respond within 50 ms",
  });
  await expect(rpc.call("b", [])).rejects.toMatchObject({ message: "the node did not respond within 400 ms" });
});
