import { describe, expect, it } from "vitest";
import { readResponse, readResponses, writeCall, writeCalls } from "./json-rpc.ts";

const error = { code: -32_601, message: "no such method" };

describe("calls", () => {
  it("are serialized as one request, or as a batch with their indexes as ids", () => {
    const calls = [
      { method: "eth_chainId", params: [] },
      { method: "eth_call", params: [{ to: "0x1" }, "latest"] },
    ];
    expect(JSON.parse(writeCall({ method: "eth_chainId", params: [] }))).toEqual({
      jsonrpc: "2.0",
      id: 1,
      method: "eth_chainId",
      params: [],
    });
    expect(JSON.parse(writeCalls(calls.slice(0, 1)))).toMatchObject({ id: 0, method: "eth_chainId" });
    expect(JSON.parse(writeCalls(calls))).toMatchObject([
      { id: 0, method: "eth_chainId" },
      { id: 1, method: "eth_call", params: [{ to: "0x1" }, "latest"] },
    ]);
  });
});

describe("a single response", () => {
  it.each([
    ["a result", { jsonrpc: "2.0", id: 1, result: "0x1" }, { ok: true, result: "0x1" }],
    ["a result of null", { jsonrpc: "2.0", id: 1, result: null }, { ok: true, result: null }],
    ["a result with an error of null", { id: 1, result: "0x1", error: null }, { ok: true, result: "0x1" }],
    ["an error", { jsonrpc: "2.0", id: null, error }, { ok: false, error }],
    ["an error without an id", { error }, { ok: false, error }],
    ["an error with data", { id: 1, error: { ...error, data: "0x" } }, { ok: false, error: { ...error, data: "0x" } }],
  ])("may be %s", (_, message, answer) => {
    expect(readResponse(JSON.stringify(message))).toEqual({ kind: "answer", answer });
  });

  it.each(["", "<html>"])("cannot be %j, which is not JSON", (text) => {
    expect(readResponse(text)).toEqual({ kind: "not-json" });
  });

  it.each(["null", "7", "[]", "{}", '{"id":1}', '{"error":"Unauthorized"}', '{"error":{"message":"x"}}'])(
    "cannot be %j, which has neither result nor error",
    (text) => {
      expect(readResponse(text)).toEqual({ kind: "not-json-rpc" });
    },
  );

  it.each([
    ["a result with a different id", { id: 2, result: "0x1" }, "2"],
    ["a result with the id as a string", { id: "1", result: "0x1" }, '"1"'],
    ["a result with an id of null", { id: null, result: "0x1" }, "null"],
    ["a result without an id", { result: "0x1" }, "none"],
    ["an error with a different id", { id: 2, error }, "2"],
  ])("cannot be %s", (_, message, found) => {
    expect(readResponse(JSON.stringify(message))).toEqual({
      kind: "another-id",
      words: `the response to another request (expected the id 1, found ${found})`,
    });
  });
});

describe("the responses to a batch", () => {
  it("are matched by index, in any order, and some may be missing", () => {
    const text = JSON.stringify([
      { id: 2, result: "c" },
      { id: 0, error },
    ]);
    const read = readResponses(text);
    expect(read?.ok === true && [...read.byIndex]).toEqual([
      [2, { ok: true, result: "c" }],
      [0, { ok: false, error }],
    ]);
  });

  it("may be a single error for all of them", () => {
    expect(readResponses(JSON.stringify({ jsonrpc: "2.0", id: null, error }))).toEqual({ ok: false, error });
  });

  it.each(["", "busy", "[7]", '{"id":"0","result":1}', '[{"result":1}]'])("cannot be %j", (text) => {
    expect(readResponses(text)).toBeUndefined();
  });
});
