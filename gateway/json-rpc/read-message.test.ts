import { describe, expect, it } from "vitest";
import { beginMessage, readMessage } from "./read-message.ts";

const limits = { batchItems: 3, depth: 32, callBytes: 4_096, callValues: 100 };
const read = (text: string) => readMessage(Buffer.from(text, "utf8"), limits);
const call = (params: string, id = "1") => `{"jsonrpc":"2.0","id":${id},"method":"m","params":${params}}`;
const createNestedCall = (depth: number) => call("[".repeat(depth - 1) + "]".repeat(depth - 1));
const member = (at: number) => `"m${at}":1`;
const createInvalid = (id: string, size?: { kib: number }) => ({
  kind: "single",
  call: { id, error: { code: -32600, message: "invalid request" }, ...size },
});
const parseError = { kind: "single", call: { id: "null", error: { code: -32700, message: "parse error" } } };

const createRejected = (id: string, error: object) => ({ kind: "single", call: { id, error, kib: 1 } });
const createTooLong = (name: string) => ({ code: -32600, message: `${name} too long: limited to 1024 bytes` });

describe("readMessage", () => {
  it("keeps id and params byte for byte", () => {
    for (const id of ["9007199254740993", "1e3", "-0.10", '"\\u00e9\\ud800"', "null", "true", '""']) {
      expect(read(`{"id": ${id} ,"jsonrpc":"2.0","method":"m","params": [ 1.0, {"a": 2 }]}`)).toEqual({
        kind: "single",
        call: { id, method: "m", params: '[ 1.0, {"a": 2 }]' },
      });
    }
  });

  it("reads notifications and absent params", () => {
    expect(read('{"jsonrpc":"2.0","method":"m","params":null}')).toEqual({
      kind: "single",
      call: { id: undefined, method: "m", params: undefined },
    });
  });

  it("uses the last of duplicate keys, escaped or not, and matches keys case-sensitively", () => {
    expect(read('{"jsonrpc":"2.0","id":1,"method":"a","m\\u0065thod":"b","Method":"c"}')).toEqual({
      kind: "single",
      call: { id: 1 + "", method: "b", params: undefined },
    });
  });

  it.each([
    ['{"jsonrpc":2.0,"id":7,"method":"m"}', "7"],
    ['{"jsonrpc":"2.0","id":7}', "7"],
    ['{"jsonrpc":"2.0","id":7,"method":""}', "7"],
    ['{"jsonrpc":"2.0","id":7,"method":5}', "7"],
    ['"text"', "null"],
  ])("responds to %s with invalid request", (text, id) => {
    expect(read(text)).toEqual(createInvalid(id));
  });

  it.each([" ", '{"a":1', '{"a":1,}', "[1,]", "[1", "{} {}", '{"a" 1}', "\u{feff}{}", '{"jsonrpc":"2.0"]', "[1]x"])(
    "responds to %j with a parse error",
    (text) => {
      expect(read(text)).toEqual(parseError);
    },
  );

  it("accepts a call nested to the limit and rejects a deeper one", () => {
    expect(read(createNestedCall(limits.depth))).toMatchObject({ call: { id: "1", method: "m" } });
    expect(read(createNestedCall(limits.depth + 1))).toEqual(parseError);
    expect(read(`[${createNestedCall(limits.depth + 1)}]`)).toEqual(parseError);
  });

  it("responds to bytes that are not UTF-8 with a parse error", () => {
    expect(readMessage(Buffer.from([0x22, 0xff, 0x22]), limits)).toEqual(parseError);
  });

  it("reads batches, with an error for every item that is not a call", () => {
    expect(read('[{"jsonrpc":"2.0","id":1,"method":"m"}, 1 ,{}]')).toMatchObject({
      kind: "batch",
      calls: [{ method: "m" }, { error: { code: -32600 } }, { error: { code: -32600 } }],
    });
    expect(read("[]")).toMatchObject({ call: { id: "null", error: { code: -32600, message: "empty batch" } } });
    expect(read("[1,2,3,4]")).toMatchObject({
      call: { id: "null", error: { code: -32600, message: "batch too large: limited to 3 calls" } },
    });
  });

  const tooLarge = {
    kind: "single",
    call: {
      id: "null",
      error: {
        code: -32600,
        message: "request too large: one call may have 4096 bytes, and 100 values, keys and escaped characters",
      },
      limit: "message",
    },
  };

  it.each([
    ["bytes", `["${"x".repeat(4_096)}"]`],
    ["values", `[${"1,".repeat(100)}1]`],
    ["empty lists", `[${"[],".repeat(100)}1]`],
    ["keys", `[{${'"a":1,'.repeat(50)}"a":1}]`],
    ["escapes", `["${"\\n".repeat(101)}"]`],
  ])("rejects a call with too many %s, in a batch or not", (_, params) => {
    expect(read(call(params))).toEqual(tooLarge);
    expect(read(`[${call("[]")},${call(params)}]`)).toEqual(tooLarge);
  });

  it("applies the limits to each call of a batch separately", () => {
    const large = call(`["${"x".repeat(3_000)}"${",1".repeat(80)}]`);
    expect(read(`[${large},${large},${large}]`)).toMatchObject({ kind: "batch", calls: [{ kib: 3 }, { kib: 3 }, {}] });
  });

  it("reads a batch one call at a time", () => {
    const reading = beginMessage(Buffer.from(`[${call("[]")},${call("[]")},2]`), limits);
    expect([reading.next(), reading.next()]).toEqual([undefined, undefined]);
    expect(reading.next()).toMatchObject({ kind: "batch", calls: [{ method: "m" }, { method: "m" }, { id: "null" }] });
  });

  it("accepts an id or a method of 1 KiB, and names a longer one and the limit", () => {
    expect(read(call("[]", `"${"x".repeat(1_022)}"`))).toMatchObject({ call: { method: "m" } });
    expect(read(call("[]", `"${"x".repeat(1_023)}"`))).toEqual(createRejected("null", createTooLong("id")));
    expect(read(call("[]", "9".repeat(1_025)))).toEqual(createRejected("null", createTooLong("id")));
    expect(read(`{"jsonrpc":"2.0","id":1,"method":"${"m".repeat(1_022)}"}`)).toMatchObject({ call: { id: "1" } });
    expect(read(`{"jsonrpc":"2.0","id":1,"method":"${"m".repeat(1_023)}"}`)).toEqual(
      createRejected("1", createTooLong("method")),
    );
    expect(read(`{"jsonrpc":"2.0","id":1,"method":{"a":"${"m".repeat(1_024)}"}}`)).toEqual(
      createInvalid("1", { kib: 1 }),
    );
  });

  it("accepts 64 members and rejects 65, and rejects overlong versions", () => {
    const roomy = { ...limits, callValues: 1_000 };
    const withMembers = (count: number) => {
      const otherMembers = Array.from({ length: count - 3 }, (_, at) => member(at)).join(",");
      return readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"m",${otherMembers}}`), roomy);
    };
    expect(withMembers(64)).toMatchObject({ call: { method: "m" } });
    expect(withMembers(65)).toEqual(createInvalid("null"));
    expect(read(`{"jsonrpc":"2.0${'\\"'.repeat(40)}","id":1,"method":"m"}`)).toEqual(createInvalid("1"));
    expect(read(`{"jsonrpc":"2.0","id":1,"method":"m","${"\\u006d".repeat(12)}\\"":1}`)).toMatchObject({
      call: { method: "m" },
    });
  });

  it("accepts a long run of white space and rejects a longer one as invalid JSON", () => {
    const roomy = { ...limits, callBytes: 1_000_000 };
    const readSpaced = (count: number) => readMessage(Buffer.from(call(`[${" ".repeat(count)}]`)), roomy);
    expect(readSpaced(65_535)).toMatchObject({ call: { method: "m" } });
    expect(readSpaced(65_537)).toEqual(parseError);
  });
});
