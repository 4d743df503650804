import { pino } from "pino";
import { expect, test } from "vitest";
import { AnvilRequestError } from "../anvil/anvil-request.ts";
import type { Method } from "./extension-methods.ts";
import { batchCallsMax, createMessageHandler } from "./rpc-message.ts";

const methods = new Map<string, Method>([
  ["echo", async (params) => params],
  ["nothing", async () => undefined],
  ["broken", async () => Promise.reject(new TypeError("secret path in a stack"))],
  [
    "reverts",
    async () => Promise.reject(new AnvilRequestError("eth_call", { code: 3, message: "reverted", data: "0x08" })),
  ],
]);

const handle = createMessageHandler({}, { log: pino({ level: "silent" }) });

async function answer(text: string): Promise<unknown> {
  const answered = await handle(text, (name) => methods.get(name));
  return answered === "" ? "" : JSON.parse(answered);
}

function failure(code: number, message: string, id: unknown = null, data?: string): unknown {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

test.each([
  ["{", failure(-32700, "parse error")],
  ["", failure(-32700, "parse error")],
  ["5", failure(-32600, "invalid request")],
  ["null", failure(-32600, "invalid request")],
  ["[]", failure(-32600, "empty batch")],
  ['{"jsonrpc":"1.0","id":7,"method":"echo"}', failure(-32600, "invalid request")],
  ['{"jsonrpc":"2.0","id":{},"method":"echo"}', failure(-32600, "invalid request")],
  ['{"jsonrpc":"2.0","id":7,"method":"echo","params":{}}', failure(-32602, "non-array args", 7)],
  ['{"jsonrpc":"2.0","id":7,"method":"no"}', failure(-32601, "the method no does not exist/is not available", 7)],
  ['{"jsonrpc":"2.0","id":7,"method":"broken"}', failure(-32603, "internal error", 7)],
  ['{"jsonrpc":"2.0","id":7,"method":"reverts"}', failure(3, "reverted", 7, "0x08")],
  ['{"jsonrpc":"2.0","id":7,"method":"echo","params":null}', { jsonrpc: "2.0", id: 7, result: [] }],
  ['{"jsonrpc":"2.0","id":null,"method":"echo"}', { jsonrpc: "2.0", id: null, result: [] }],
  ['{"jsonrpc":"2.0","id":7,"method":"nothing"}', { jsonrpc: "2.0", id: 7, result: null }],
  ['{"jsonrpc":"2.0","method":"echo"}', ""],
  ['[{"jsonrpc":"2.0","method":"echo"}]', ""],
  [
    '[{"jsonrpc":"2.0","id":1,"method":"echo","params":[2]},7,{"jsonrpc":"2.0","method":"echo"}]',
    [{ jsonrpc: "2.0", id: 1, result: [2] }, failure(-32600, "invalid request")],
  ],
])("returns the JSON-RPC response to %s", async (text, expected) => {
  expect(await answer(text)).toEqual(expected);
});

const batch = (size: number) =>
  JSON.stringify(Array.from({ length: size }, (_, id) => ({ jsonrpc: "2.0", id, method: "echo" })));

test("rejects a batch of more than a thousand calls", async () => {
  expect(await answer(batch(batchCallsMax))).toHaveLength(batchCallsMax);
  expect(await answer(batch(batchCallsMax + 1))).toEqual([failure(-32600, "batch too large")]);
});
