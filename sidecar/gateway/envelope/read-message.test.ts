import { describe, expect, it } from "vitest";
import { readMessage } from "./read-message.ts";

const limits = { batchItems: 3, depth: 32 };
const read = (text: string) => readMessage(Buffer.from(text, "utf8"), limits);
const invalid = (id: string) => ({ kind: "single", call: { id, error: { code: -32600, message: "invalid request" } } });
const parseError = { kind: "single", call: { id: "null", error: { code: -32700, message: "parse error" } } };

describe("readMessage", () => {
  it("keeps an id and parameters byte for byte", () => {
    for (const id of ["9007199254740993", "1e3", "-0.10", '"\\u00e9\\ud800"', "null", "true", '""']) {
      expect(read(`{"id": ${id} ,"jsonrpc":"2.0","method":"m","params": [ 1.0, {"a": 2 }]}`)).toEqual({
        kind: "single",
        call: { id, method: "m", params: '[ 1.0, {"a": 2 }]' },
      });
    }
  });

  it("reads notifications and absent parameters", () => {
    expect(read('{"jsonrpc":"2.0","method":"m","params":null}')).toEqual({
      kind: "single",
      call: { id: undefined, method: "m", params: undefined },
    });
  });

  it("lets the last of equal keys count, escaped or not, and minds the case of keys", () => {
    expect(read('{"jsonrpc":"2.0","id":1,"method":"a","m\\u0065thod":"b","Method":"c"}')).toEqual({
      kind: "single",
      call: { id: 1 + "", method: "b", params: undefined },
    });
  });

  it.each([
    ['{"id":7,"method":"m"}', "7"],
    ['{"jsonrpc":"1.0","id":7,"method":"m"}', "7"],
    ['{"jsonrpc":2.0,"id":7,"method":"m"}', "7"],
    ['{"jsonrpc":"2.0","id":{},"method":"m"}', "null"],
    ['{"jsonrpc":"2.0","id":[],"method":"m"}', "null"],
    ['{"jsonrpc":"2.0","id":7}', "7"],
    ['{"jsonrpc":"2.0","id":7,"method":""}', "7"],
    ['{"jsonrpc":"2.0","id":7,"method":5}', "7"],
    ["{}", "null"],
    ["5", "null"],
    ['"text"', "null"],
  ])("answers %s with invalid request", (text, id) => {
    expect(read(text)).toEqual(invalid(id));
  });

  it.each([
    "",
    " ",
    "{",
    '{"a":1',
    '{"a":1,}',
    "[1,]",
    "[1",
    "{} {}",
    '{"a" 1}',
    "\u{feff}{}",
    '{"jsonrpc":"2.0"]',
    "[1]x",
  ])("answers %j with a parse error", (text) => {
    expect(read(text)).toEqual(parseError);
  });

  it("answers bytes that are no UTF-8 with a parse error", () => {
    expect(readMessage(Buffer.from([0x22, 0xff, 0x22]), limits)).toEqual(parseError);
  });

  it("reads batches, with an error for every item that is no call", () => {
    expect(read('[{"jsonrpc":"2.0","id":1,"method":"m"}, 1 ,{}]')).toMatchObject({
      kind: "batch",
      calls: [{ method: "m" }, { error: { code: -32600 } }, { error: { code: -32600 } }],
    });
    expect(read("[]")).toMatchObject({ call: { id: "null", error: { code: -32600, message: "empty batch" } } });
    expect(read("[1,2,3,4]")).toMatchObject({
      call: { id: "null", error: { code: -32600, message: "batch too large" } },
    });
  });
});
