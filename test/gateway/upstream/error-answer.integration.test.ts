import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { responseWritten, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient, type TestClient } from "#gateway/testing/test-client.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { bothPaths, useGateway } from "#gateway/testing/use-gateway.ts";

const reverted = '{"code":3,"message":"execution reverted: \\u00e9","data":"0x08c379a0"}';
const request = (id: string, method = "eth_estimateGas", params = "[{}]") =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
const errorResponse = (id: string, error = reverted) => `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
const badAnswer = '{"code":-32603,"message":"the node\'s response is not JSON-RPC; try again later"}';
const limited = '{"code":-32005,"message":"rate limit exceeded: the node rate-limits calls; try again later"}';
const cut =
  '{"code":-32603,"message":"the node closed the connection before its response was complete; try again later"}';
const unavailable = '{"code":-32603,"message":"the node is not responding; try again later"}';

/** Ways in which a body arrives at the gateway. */
const deliveries: Readonly<Record<string, (response: ServerResponse, status: number, body: string) => void>> = {
  "with a length": (response, status, body) =>
    response.writeHead(status, { "Content-Length": Buffer.byteLength(body) }).end(body),
  "in chunks": (response, status, body) => {
    response.writeHead(status).write(body.slice(0, 20));
    response.end(body.slice(20));
  },
  "until the connection closes": (response, status, body) => {
    response.socket?.end(`HTTP/1.1 ${status} Oops\r\nConnection: close\r\n\r\n${body}`);
  },
};

describe.each(bothPaths)("a node response with a status other than 200, over %s", (_, fastPath) => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({ listener: { fastPath } }, (started) => ({ node, gateway } = started));
  const respond = (status: number, body: string, deliver = deliveries["with a length"]) =>
    node.respondAs((_call, response) => {
      deliver?.(response, status, body);
      return responseWritten;
    });

  it.each(Object.keys(deliveries).flatMap((way) => [400, 404, 429, 500, 503].map((status) => [status, way] as const)))(
    "with status %i %s: its JSON-RPC error is passed to the client",
    async (status, way) => {
      respond(status, errorResponse("1"), deliveries[way]);
      const got = await post(gateway.url, request("1"));
      expect([got.status, got.text]).toEqual([200, errorResponse("1")]);
      expect(got.headers.get("x-gatehouse-source")).toBe("node");
      // No data of this response is left on the connection.
      node.respondAs(() => "0x5");
      expect((await post(gateway.url, request("2", "eth_syncing", "[]"))).text).toContain('"result":"0x5"');
    },
  );

  it("keeps the client's id, whatever id the node returned", async () => {
    respond(400, `{"error":${reverted},"id":null,"jsonrpc":"2.0"}\n`);
    for (const id of ["7", '"a<b"', "9007199254740993", "null"]) {
      for (const [method, params] of [
        ["eth_syncing", "[]"],
        ["eth_call", '[{},"latest"]'],
      ] as const) {
        expect((await post(gateway.url, request(id, method, params))).text).toBe(errorResponse(id));
      }
    }
  });

  it("reaches every call in a batch, identical concurrent calls, and WebSocket clients", async () => {
    respond(500, errorResponse("1"));
    const batch = `[${request("1")},${request("2")},${request('"x"', "eth_syncing", "[]")}]`;
    const all = `[${errorResponse("1")},${errorResponse("2")},${errorResponse('"x"')}]`;
    expect((await post(gateway.url, batch)).text).toBe(all);
    const ids = ["11", "12", "13", "14"];
    expect(await Promise.all(ids.map(async (id) => (await post(gateway.url, request(id))).text))).toEqual(
      ids.map((id) => errorResponse(id)),
    );
    await using client = await connectTestClient(gateway.url);
    expect(await client.ask(request("5"))).toBe(errorResponse("5"));
    expect(await client.ask(batch)).toBe(all);
  });

  it.each([
    [500, "<h1>Internal Server Error</h1>", badAnswer],
    [403, '{"error":"forbidden"}', badAnswer],
    [403, '{"error":{"message":"no code"}}', badAnswer],
    [404, '{"jsonrpc":"2.0","id":1,"result":"0x1"}', badAnswer],
    [400, errorResponse("1").slice(0, -1), badAnswer],
    [400, "", badAnswer],
    [502, "<h1>Bad Gateway</h1>", unavailable],
    [503, "", unavailable],
    [429, "slow down", limited],
    [429, "", limited],
  ])("with status %i and no JSON-RPC error (%s) counts as a node failure", async (status, body, error) => {
    respond(status, body);
    for (const method of ["eth_syncing", "eth_estimateGas"]) {
      expect((await post(gateway.url, request("1", method))).text).toBe(errorResponse("1", error));
    }
  });

  it.each(Object.keys(deliveries))("is read only up to a limit if it arrives %s", async (way) => {
    const body = errorResponse("1", `{"code":3,"message":"${"x".repeat(2_000_000)}"}`);
    respond(400, body, deliveries[way]);
    expect((await post(gateway.url, request("1"))).text).toBe(errorResponse("1", badAnswer));
  });
});

describe.each(bothPaths)("an error of a node that couldn't parse the call, over %s", (_, fastPath) => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({ listener: { fastPath } }, (started) => ({ node, gateway } = started));
  const unparsed = '{"code":-32600,"message":"Invalid request"}';

  it.each([`{"jsonrpc":"2.0","id":null,"error":${unparsed}}`, `{"jsonrpc":"2.0","error":${unparsed},"id":null}\n`])(
    "has the call's id: %s",
    async (body) => {
      node.respondAs((_call, response) => {
        deliveries["with a length"]?.(response, 200, body);
        return responseWritten;
      });
      const read = request("1", "eth_getBalance", '["0x01","latest"]');
      const calls = [read, request('"x"'), request("3", "eth_sendRawTransaction", '["0x01"]')];
      const responses = [errorResponse("1", unparsed), errorResponse('"x"', unparsed), errorResponse("3", unparsed)];
      await using client = await connectTestClient(gateway.url);
      for (const ask of [async (text: string) => (await post(gateway.url, text)).text, client.ask]) {
        for (const [at, call] of calls.entries()) expect(await ask(call)).toBe(responses[at]);
        expect(await ask(`[${calls.join()}]`)).toBe(`[${responses.join()}]`);
      }
    },
  );
});

describe.each(bothPaths)("a response that the node cuts off, over %s", (_, fastPath) => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({ listener: { fastPath } }, (started) => ({ node, gateway } = started));

  it.each([
    ["before its head", (response: ServerResponse) => response.destroy()],
    ["within its head", ({ socket }: ServerResponse) => socket?.end("HTTP/1.1 200 O")],
    [
      "within its length",
      ({ socket }: ServerResponse) => socket?.end("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
    ],
    [
      "within a chunk",
      ({ socket }: ServerResponse) => socket?.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{"id"'),
    ],
  ])("%s is reported as such", async (_way, cutOff) => {
    node.respondAs((_call, response) => {
      cutOff(response);
      return responseWritten;
    });
    const [read, other] = [request("1", "eth_getBalance", '["0x01","latest"]'), request("2", "eth_syncing", "[]")];
    expect((await post(gateway.url, read)).text).toBe(errorResponse("1", cut));
    expect((await post(gateway.url, `[${read},${other}]`)).text).toBe(
      `[${errorResponse("1", cut)},${errorResponse("2", cut)}]`,
    );
  });
});

const failed = (id: string) => errorResponse(id, badAnswer);

describe.each(bothPaths)("a 200 response that is not JSON-RPC, over %s", (_, fastPath) => {
  const own = '{"jsonrpc":"2.0","id":3,"result":"0x0"}';
  let node: FakeNode;
  let gateway: TestGateway;
  let client: TestClient;
  beforeAll(async () => {
    node = await startFakeNode();
    gateway = await startTestGateway(node, { listener: { fastPath } });
    client = await connectTestClient(gateway.url);
  });
  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  const bodies = ["<html><body>maintenance</body></html>", "", "  ", '"0x1"', "upstream error"];
  const rows = Object.entries(deliveries).flatMap(([way, deliver]) =>
    bodies.map((body) => [body, way, deliver] as const),
  );
  it.each(rows)("(%j, %s) fails only its own call", async (body, _way, deliver) => {
    node.respondAs(({ method }, response) => {
      if (method === "eth_syncing") return false;
      deliver(response, 200, body);
      return responseWritten;
    });
    const page = request("1", "eth_getBalance", '["0x01","latest"]');
    const alone = request("2", "debug_traceTransaction", `["0x${"0".repeat(64)}"]`);
    const [local, good] = [request("3", "eth_coinbase", "[]"), request("4", "eth_syncing", "[]")];
    for (const ask of [async (text: string) => (await post(gateway.url, text)).text, client.ask]) {
      expect(await ask(page)).toBe(failed("1"));
      expect(await ask(alone)).toBe(failed("2"));
      expect(await ask(`[${page},${local},${alone}]`)).toBe(`[${failed("1")},${own},${failed("2")}]`);
      expect(await ask(good)).toBe('{"jsonrpc":"2.0","id":4,"result":false}');
    }
  });

  it.each([200, 201, 203])(
    "with status %i is accepted if it contains JSON-RPC, even after white space",
    async (status) => {
      node.respondAs((_call, response) => {
        response.writeHead(status).end(' \n{"jsonrpc":"2.0","id":1,"result":"0x5"}');
        return responseWritten;
      });
      expect(JSON.parse((await post(gateway.url, request("1"))).text)).toEqual({
        jsonrpc: "2.0",
        id: 1,
        result: "0x5",
      });
    },
  );
});
