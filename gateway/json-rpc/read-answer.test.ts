import { describe, expect, it } from "vitest";
import { isEmptyResult, readNodeResponse } from "./read-answer.ts";

describe("isEmptyResult", () => {
  it.each(["null", "[]", "{}", '""', '"0x"', " null ", "[ ]", "[\n          \n]", "{\t}"])("accepts %j", (json) => {
    expect(isEmptyResult(json)).toBe(true);
  });

  it.each(["false", "0", '"0x0"', "[null]", '{"a":null}', '" "', `[${" ".repeat(20)}1]`])("rejects %j", (json) => {
    expect(isEmptyResult(json)).toBe(false);
  });
});

describe("readAnswer", () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"result":{"a":1}}\n', { kind: "result", json: '{"a":1}' }],
    ['{"id":1, "result" : [1 ] ,"jsonrpc":"2.0"}', { kind: "result", json: "[1 ]" }],
    ['{"jsonrpc":"2.0","id":1,"error":null,"result":5}', { kind: "result", json: "5" }],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":3}}', { kind: "error", json: '{"code":3}' }],
    ['{"jsonrpc":"2.0","id":1}', undefined],
    ["no JSON", undefined],
  ])("extracts the result or error from %j", (text, response) => {
    expect(readNodeResponse(text, "1")).toEqual(response);
  });
});
