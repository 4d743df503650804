import { pino } from "pino";
import { expect, test } from "vitest";
import * as fc from "fast-check";
import { AnvilRequestError } from "../anvil/anvil-request.ts";
import type { Method } from "./method.ts";
import { batchCallsMax, createMessageHandler, readIds } from "./rpc-message.ts";

const methods = new Map<string, Method>([
  ["echo", async (params) => params],
  ["nothing", async () => undefined],
  ["broken", async () => Promise.reject(new TypeError("secret path in a stack"))],
  [
    "reverts",
    async () => Promise.reject(new AnvilRequestError("eth_call", { code: 3, message: "reverted", data: "0x08" })),
  ],
]);

const observed: string[] = [];
const handler = createMessageHandler({
  methods,
  observe: (method, outcome) => observed.push(`${method} ${outcome}`),
  log: pino({ level: "silent" }),
});

async function answer(text: string): Promise<unknown> {
  const answered = await handler.handle(text, {});
  return answered === "" ? "" : JSON.parse(answered);
}

function failure(code: number, message: string, id: unknown = null): unknown {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

test.each([
  ["{", failure(-32700, "parse error")],
  ["", failure(-32700, "parse error")],
  ["5", failure(-32600, "invalid request")],
  ["null", failure(-32600, "invalid request")],
  ["[]", failure(-32600, "empty batch")],
  ['{"id":7,"method":"echo"}', failure(-32600, "invalid request", 7)],
  ['{"jsonrpc":"1.0","id":7,"method":"echo"}', failure(-32600, "invalid request", 7)],
  ['{"jsonrpc":"2.0","id":{},"method":"echo"}', failure(-32600, "invalid request")],
  ['{"jsonrpc":"2.0","id":7,"method":5}', failure(-32600, "invalid request", 7)],
  ['{"jsonrpc":"2.0","id":7,"method":"echo","params":{}}', failure(-32602, "non-array args", 7)],
  ['{"jsonrpc":"2.0","id":7,"method":"no"}', failure(-32601, "the method no does not exist/is not available", 7)],
  [
    '{"jsonrpc":"2.0","id":7,"method":"__proto__"}',
    failure(-32601, "the method __proto__ does not exist/is not available", 7),
  ],
  ['{"jsonrpc":"2.0","id":7,"method":"broken"}', failure(-32603, "internal error", 7)],
  ['{"jsonrpc":"2.0","id":7,"method":"echo","params":null}', { jsonrpc: "2.0", id: 7, result: [] }],
  ['{"jsonrpc":"2.0","id":null,"method":"echo"}', { jsonrpc: "2.0", id: null, result: [] }],
  ['{"jsonrpc":"2.0","id":7,"method":"nothing"}', { jsonrpc: "2.0", id: 7, result: null }],
  ['{"jsonrpc":"2.0","method":"echo"}', ""],
  ['[{"jsonrpc":"2.0","method":"echo"}]', ""],
])("%s", async (text, expected) => {
  expect(await answer(text)).toEqual(expected);
});

test("a revert keeps its code and its data", async () => {
  expect(await answer('{"jsonrpc":"2.0","id":1,"method":"reverts"}')).toEqual({
    jsonrpc: "2.0",
    id: 1,
    error: { code: 3, message: "reverted", data: "0x08" },
  });
});

test("a batch answers each call and says nothing about notifications", async () => {
  const text = '[{"jsonrpc":"2.0","id":1,"method":"echo","params":[2]},7,{"jsonrpc":"2.0","method":"echo"}]';
  expect(await answer(text)).toEqual([{ jsonrpc: "2.0", id: 1, result: [2] }, failure(-32600, "invalid request")]);
});

function batch(size: number): string {
  return JSON.stringify(Array.from({ length: size }, (_, id) => ({ jsonrpc: "2.0", id, method: "echo" })));
}

test("a batch may have a thousand calls and no more", async () => {
  expect(await answer(batch(batchCallsMax))).toHaveLength(batchCallsMax);
  expect(await answer(batch(batchCallsMax + 1))).toEqual([failure(-32600, "batch too large", 0)]);
});

test("what is nested too deep to be read is answered, too", async () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const answered = await handler.handle(`{"jsonrpc":"2.0","id":9007199254740993,"method":"no","params":${deep}}`, {});
  expect(JSON.parse(answered)).toHaveProperty("error");
});

test("methods that are not in the table share one name in the metrics", async () => {
  observed.length = 0;
  await answer('{"jsonrpc":"2.0","id":1,"method":"made-up-7"}');
  await answer('{"jsonrpc":"2.0","id":1,"method":"echo"}');
  expect(observed).toEqual(["unknown error", "echo ok"]);
});

function idOf(text: string): string | undefined {
  return readIds(text, [JSON.parse(text)])[0];
}

test("numbers come back digit for digit, whatever their size", () => {
  fc.assert(
    fc.property(fc.bigInt(), (id) => {
      expect(idOf(`{"method":"x","id":${id}}`)).toBe(String(id));
    }),
  );
});

test("text comes back as the same text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (id) => {
      expect(JSON.parse(idOf(JSON.stringify({ id })) ?? "")).toBe(id);
    }),
  );
});

test("in a batch each request has its own id", () => {
  const text = '[{"id":9007199254740993},{"id":1},5,{"id":1e400},{}]';
  expect(readIds(text, JSON.parse(text) as unknown[])).toEqual([
    "9007199254740993",
    "1",
    undefined,
    "1e400",
    undefined,
  ]);
});

test("of two ids the last one counts, as in JSON.parse", () => {
  expect(idOf('{"id":9007199254740993,"id":9007199254740995}')).toBe("9007199254740995");
});

test("an id inside the parameters is not the request's", () => {
  expect(idOf('{"params":[{"id":9007199254740993}],"id":9007199254740995}')).toBe("9007199254740995");
});

test("objects, arrays and truth values are no ids; null is one", () => {
  for (const id of ["{}", "[]", "true"]) expect(idOf(`{"id":${id}}`)).toBeUndefined();
  expect(idOf('{"id":null}')).toBe("null");
});
