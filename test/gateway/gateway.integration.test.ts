import { describe, expect, it } from "vitest";
import { responseWritten, type FakeNode } from "#gateway/testing/fake-node.ts";
import { call, post, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";

/** JSON text as written by encoders that escape HTML. */
function escaped(json: string): string {
  return json.replaceAll(/[<>&'/]/g, (one) => `\\u00${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

describe("envelope over HTTP", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({}, (started) => void ({ node, gateway } = started), "all");

  it.each([
    ["0x1"],
    ["latest"],
    ["pending"],
    [`0x${"ab".repeat(32)}`],
    [{ blockNumber: "0x1" }],
    [{ blockHash: `0x${"ab".repeat(32)}` }],
    [{ blockHash: `0x${"cd".repeat(32)}`, requireCanonical: true }],
  ])("forwards eth_getBlockReceipts with the block %j", async (block) => {
    node.respondAs(({ params }) => [params]);
    expect((await call(gateway.url, "eth_getBlockReceipts", [block])).result).toEqual([[block]]);
  });

  it("answers the placeholders with constants, without a request to the node", async () => {
    const requestsBefore = node.requests.length;
    expect(await call(gateway.url, "eth_coinbase")).toEqual({ jsonrpc: "2.0", id: 1, result: "0x0" });
    expect(await call(gateway.url, "eth_getUncleCountByBlockNumber", ["0x1"])).toMatchObject({ result: null });
    expect(node.requests.length).toBe(requestsBefore);
  });

  it.each([`"a<b>&c"`, `"it's/here"`])("keeps the id %s even if the node's encoder reformats it", async (id) => {
    node.respondAs(({ raw }, response) => {
      const given = /"id":(.*?),"method"/.exec(raw)?.[1] ?? "null";
      response.end(`{"jsonrpc":"2.0","id":${escaped(given)},"result":"0x5"}`);
      return responseWritten;
    });
    for (const method of ["eth_syncing", "eth_gasPrice"]) {
      const { text } = await post(gateway.url, `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":[]}`);
      expect(text).toBe(`{"jsonrpc":"2.0","id":${id},"result":"0x5"}`);
    }
  });

  it("rejects non-JSON-RPC requests with an HTTP status", async () => {
    for (const type of ["text/plain", "application/json5", "application/x-www-form-urlencoded", ""]) {
      expect([type, (await post(gateway.url, "{}", { "Content-Type": type })).status]).toEqual([type, 415]);
    }
    for (const type of [
      "application/json",
      "Application/JSON; charset=utf-8",
      "application/json-rpc",
      "application/jsonrequest",
    ]) {
      expect([type, (await post(gateway.url, "{}", { "Content-Type": type })).status]).toEqual([type, 200]);
    }
    expect((await post(`${gateway.url}/other`, "{}")).status).toBe(404);
    for (const method of ["PUT", "DELETE", "PATCH"]) {
      expect([method, (await fetch(gateway.url, { method, body: "{}" })).status]).toEqual([method, 405]);
    }
    const empty = await fetch(gateway.url);
    expect([empty.status, await empty.text()]).toEqual([200, ""]);
    expect((await post(gateway.url, "x".repeat(5_242_881))).status).toBe(413);
    expect((await post(gateway.url, `"${"x".repeat(5_242_870)}"`)).status).toBe(200);
  });

  it("forwards node responses byte for byte", async () => {
    for (const text of [
      '{ "id" : 1,\t"jsonrpc":"2.0", "result" : 1.50e+0 , "extra":[ ] }\n',
      '{"jsonrpc":"2.0","id":1,"result":"\\u00e9é\\/"}',
      '{"no":"answer", "and":"no JSON at its end"',
    ]) {
      node.respondAs((_, response) => {
        response.end(text);
        return responseWritten;
      });
      const response = await post(gateway.url, '{"jsonrpc":"2.0","id":1,"method":"eth_syncing","params":[]}');
      expect([response.status, response.text]).toEqual([200, text]);
    }
  });

  it("streams a large response through unchanged", async () => {
    const big = "z".repeat(3_000_000);
    node.respondAs(() => big);
    const { text, headers } = await post(gateway.url, '{"jsonrpc":"2.0","id":1,"method":"eth_syncing","params":[]}');
    expect(text).toBe(`{"jsonrpc":"2.0","id":1,"result":"${big}"}`);
    expect(headers.get("x-gatehouse-source")).toBe("node");
  });
});
