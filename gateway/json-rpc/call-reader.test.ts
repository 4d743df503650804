import { describe, expect, it } from "vitest";
import { isBad, type BadCall, type Call, type Message } from "./call.ts";
import { readMessage } from "./read-message.ts";

const limits = { batchItems: 3, depth: 32, callBytes: 4_096, callValues: 100 };
const read = (text: string) => readMessage(Buffer.from(text, "utf8"), limits);
const typicalCall = (id: string, method: string, params: string) =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
/** The same call in another layout, so that it is read member by member. */
const other = (id: string, method: string, params: string) =>
  `{ "jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
const listParts = (text: string) => {
  const message = read(text);
  return message.kind === "single" ? getParts(message.call) : message.calls.map(getParts);
};
const getParts = (call: Call | BadCall) =>
  isBad(call)
    ? call
    : { id: call.id, method: call.method, params: call.params, kib: call.kib ?? 0, key: call.key, isBad: false };
const wires = (message: Message) =>
  message.kind === "batch" ? message.calls.map((one) => isBad(one) || one.wire) : [];
const values = (count: number) => `[${Array.from({ length: count }, () => "1").join(",")}]`;

describe("a call in the most common layout", () => {
  it("is read like any other layout, at and beyond every limit", () => {
    const params = [
      "[]",
      '["0x0","latest"]',
      '[{"to":"0x04","data":"0x\\u0030"},null]',
      values(90),
      values(91),
      values(92),
      values(93),
      "[".repeat(31) + "]".repeat(31),
      "[".repeat(32) + "]".repeat(32),
      `["${"a".repeat(4_000)}"]`,
      `["${"a".repeat(4_096)}"]`,
      "[1",
      "[1}",
      '[],"x":1',
      '[],"params":[2]',
      '[],"id":2',
      "[]]",
      "{}",
      "null",
      "1",
    ];
    const names = ["eth_call", "m", "", "a".repeat(64), "a".repeat(65), "a\\u0062", 'a"b', "eth_call"];
    for (const id of ["0", "7", "007", "123456789012345", "1234567890123456", "-1", '"a"', "null", ""]) {
      for (const name of names) {
        for (const given of params) {
          const [one, otherCall] = [typicalCall(id, name, given), other(id, name, given)];
          expect(listParts(one), one).toEqual(listParts(otherCall));
          expect(listParts(`[${one}]`), one).toEqual(listParts(`[${otherCall}]`));
        }
      }
    }
  });

  it("keeps its original text for the node, unlike a call in any other layout", () => {
    const text = typicalCall("7", "eth_call", '[{"to":"0x04"},"latest"]');
    expect(read(` ${text}\n`)).toMatchObject({ call: { wire: text } });
    expect(wires(read(`[${text}, ${text}]`))).toEqual([text, text]);
    for (const odd of [text.replace("{", "{ "), text.replace("[", " ["), text.replace(/\}$/, " }")]) {
      const message = read(`[${odd}]`);
      expect(message, odd).toMatchObject({ kind: "batch", calls: [{ id: "7", method: "eth_call" }] });
      expect(wires(message), odd).toEqual([undefined]);
    }
  });
});
