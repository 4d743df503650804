import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bodyBytesMax } from "#devnet/rpc/http-endpoint.ts";
import { startTestNode, type TestNode } from "#devnet/testing/rpc-fixture.ts";

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node[Symbol.asyncDispose]());

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

async function send(body: string, headers: Record<string, string> = { "Content-Type": "application/json" }) {
  const response = await fetch(node.rpc.httpUrl, { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
}

test.each(["application/json", "application/json; charset=utf-8", "application/json-rpc", "application/jsonrequest"])(
  "%s is read",
  async (type) => {
    expect(await send(call, { "Content-Type": type })).toEqual({
      status: 200,
      text: '{"jsonrpc":"2.0","id":1,"result":"0x688"}',
    });
  },
);

test("other content types are 415, other methods 405, other paths 404, an empty GET 200", async () => {
  expect((await send(call, { "Content-Type": "text/plain" })).status).toBe(415);
  expect((await fetch(node.rpc.httpUrl, { method: "PUT", body: call })).status).toBe(405);
  expect((await fetch(`${node.rpc.httpUrl}/rpc`, { method: "POST", body: call })).status).toBe(404);
  expect((await fetch(node.rpc.httpUrl)).status).toBe(200);
});

test("a body over the limit is 413, with and without its length announced", async () => {
  const body = " ".repeat(bodyBytesMax + 1);
  expect((await send(body)).status).toBe(413);
  const status = await new Promise((resolve, reject) => {
    const chunked = request(node.rpc.httpUrl, { method: "POST", headers: { "Content-Type": "application/json" } });
    chunked.on("response", (response) => resolve(response.statusCode)).on("error", reject);
    for (let sent = 0; sent <= bodyBytesMax; sent += 65_536) chunked.write(" ".repeat(65_536));
    chunked.end();
  });
  expect(status).toBe(413);
  expect((await send(call)).status).toBe(200);
});

test("what is no HTTP is answered 400 and closed", async () => {
  const { hostname, port } = new URL(node.rpc.httpUrl);
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write("hello\r\n\r\n"));
    let answer = "";
    socket.on("data", (chunk) => (answer += String(chunk)));
    socket.on("close", () => resolve(answer)).on("error", reject);
  });
  expect(text).toMatch(/^HTTP\/1.1 400 /);
});

test("the WebSocket port says to an HTTP client what it speaks", async () => {
  const response = await fetch(node.rpc.webSocketUrl.replace("ws:", "http:"));
  expect(response.status).toBe(426);
  expect(await response.text()).toContain("WebSocket");
});
