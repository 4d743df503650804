import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { post, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";

let gateway: TestGateway;
useGateway({}, (started) => ({ gateway } = started), "all");

const body = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';

it("a compressed body is rejected with its encoding and never decompressed, whatever its size", async () => {
  for (const bomb of [gzipSync(body), gzipSync(Buffer.alloc(50_000_000, " "))]) {
    const { status, headers, text } = await post(gateway.url, new Uint8Array(bomb), { "Content-Encoding": "gzip" });
    expect([status, headers.get("accept-encoding"), text]).toEqual([
      415,
      "identity",
      "unsupported Content-Encoding gzip; send the body uncompressed\n",
    ]);
  }
});

it("a body with the encoding identity is served", async () => {
  expect(await post(gateway.url, body, { "Content-Encoding": "identity" })).toMatchObject({ status: 200 });
});

it("responses are uncompressed, even for clients that accept compression", async () => {
  const { headers, text } = await post(gateway.url, body, { "Accept-Encoding": "gzip, br" });
  expect([headers.get("content-encoding"), text]).toEqual([null, '{"jsonrpc":"2.0","id":1,"result":"0x1"}']);
});
