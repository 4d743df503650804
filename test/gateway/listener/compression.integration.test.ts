import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { post, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";

let gateway: TestGateway;
useGateway({}, (started) => ({ gateway } = started), "all");

const body = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}';

it("a compressed body is never decompressed, whatever its size", async () => {
  for (const bomb of [gzipSync(body), gzipSync(Buffer.alloc(50_000_000, " "))]) {
    const { text } = await post(gateway.url, new Uint8Array(bomb), { "Content-Encoding": "gzip" });
    expect(text).toBe('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}');
  }
});

it("responses are uncompressed, even for clients that accept compression", async () => {
  const { headers, text } = await post(gateway.url, body, { "Accept-Encoding": "gzip, br" });
  expect([headers.get("content-encoding"), text]).toEqual([null, '{"jsonrpc":"2.0","id":1,"result":"0x1"}']);
});
