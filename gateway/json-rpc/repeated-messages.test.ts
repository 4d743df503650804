import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collectGarbage } from "#daemon/testing/heap-size.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { messageBytes } from "../testing/generated-messages.ts";
import { buildCallKey, hashKey, isBad, type BadCall, type Call, type Message } from "./call.ts";
import { createMessageReader, readMessage, type MessageReader } from "./read-message.ts";

const limits = { batchItems: 3, depth: 32, callBytes: 4_096, callValues: 100 };
/** Values in place of an id: those that the reader recognizes by their digits, and lookalikes. */
const ids = [
  "1",
  "2",
  "7",
  "0",
  "10",
  "999999999999999",
  "1000000000000000",
  "007",
  "-1",
  "1.5",
  "1e3",
  " 4",
  "4 ",
  '"4"',
  "{}",
];
/** Calls with `#` in place of their id. */
const shapes = [
  '{"jsonrpc":"2.0","id":#,"method":"eth_call","params":[{"to":"0x1"},"latest"]}',
  '{"jsonrpc":"2.0","id":#,"method":"eth_chainId"}',
  '{"jsonrpc":"2.0","id":#,"method":"eth_chainId","params":null}\n',
  '{"jsonrpc":"2.0","id":#,"method":"eth_\\u0063all","params":{"id":1}}',
  '{"jsonrpc":"2.0","id":#,"id":1,"method":"m"}',
  '{"jsonrpc":"2.0","id":#,"method":"m","i\\u0064":2}',
  '{"jsonrpc":"2.0","id":#,"method":"m","id":#}',
  '{"jsonrpc":"2.0","id":#,"method":"m","params":[1,2}',
  '{"jsonrpc":"2.0","id":#}',
  '{"jsonrpc":"2.0","method":"m","params":[{"id":3}],"id":#}',
  '{"jsonrpc":"2.0","id":5,"method":"m","id":#}',
  '{"jsonrpc":"2.0","method":"m","x\\"id":#}',
  '{"jsonrpc":"2.0","method":"m","x":{"id":#}}',
  '{"jsonrpc":"2.0","method":"m","params":"\\"id":#}',
  '{"method":"m","params":["é"],"id":#,"jsonrpc":"2.0"}',
  '{"id":#,"method":"m","jsonrpc":"2.0"}',
  '{"method":"m","params":{"id":#,"jsonrpc":"2.0"}',
  '[{"jsonrpc":"2.0","method":"m","id":#}',
  `{"jsonrpc":"2.0","id":#,"method":"m","params":${"[".repeat(31)}${"]".repeat(31)}}`,
];

function withId(shape: string, id: string): Buffer {
  return Buffer.from(shape.replaceAll("#", id), "utf8");
}

/** Returns a message's parts, without the keys, which only known calls have, and the hashes; both are checked here. */
function listParts(message: Message) {
  return message.kind === "batch"
    ? { kind: "batch", calls: message.calls.map(getParts) }
    : { kind: "single", call: getParts(message.call) };
}

function getParts(call: Call | BadCall) {
  if (isBad(call)) return call;
  const { id, method, params, key, hash, wire, kib = 0 } = call;
  const expectedKey = buildCallKey(method, params ?? "[]");
  expect([key ?? expectedKey, hash ?? hashKey(expectedKey)]).toEqual([expectedKey, hashKey(expectedKey)]);
  return { id, method, params, wire, kib };
}

function isKnown(read: MessageReader, text: string, bounds = limits): boolean {
  const message = read(Buffer.from(text, "utf8"), bounds);
  return message.kind === "single" && !isBad(message.call) && message.call.key !== undefined;
}

/** Returns the message with each run of digits that may be its id replaced by other ids, in turn. */
function withOtherIds(body: Buffer): readonly Buffer[] {
  const text = body.toString("latin1");
  return [...text.matchAll(/"id":\d+/g)]
    .slice(0, 3)
    .flatMap(({ index, 0: { length } }) =>
      ids.map((id) => Buffer.from(`${text.slice(0, index)}"id":${id}${text.slice(index + length)}`, "latin1")),
    );
}

/** Returns the message with one byte changed, with one removed, and with one repeated. */
function nearMisses(body: Buffer, position: number, byte: number): readonly Buffer[] {
  const at = position % (body.length + 1);
  const changed = Buffer.from(body);
  changed[at] = byte;
  const rest = body.subarray(at + 1);
  return [
    changed,
    Buffer.concat([body.subarray(0, at), rest]),
    Buffer.concat([body.subarray(0, at + 1), body.subarray(at)]),
  ];
}

const repeatable = fc.oneof(
  messageBytes.filter(({ length }) => length <= 1_024),
  fc.tuple(fc.constantFrom(...shapes), fc.constantFrom(...ids)).map(([shape, id]) => withId(shape, id)),
);

describe("a reader that recognizes repeated messages", () => {
  it("reads each message like a reader without a cache", () => {
    const seed = Number(process.env["GATEHOUSE_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
    const read = createMessageReader();
    fc.assert(
      fc.property(repeatable, fc.nat(), fc.nat(255), (body, position, byte) => {
        const others = withOtherIds(body);
        const near = nearMisses(body, position, byte);
        for (const one of [body, body, body, ...others, ...others, body, ...near, ...near, ...near, body]) {
          expect(listParts(read(one, limits))).toEqual(listParts(readMessage(one, limits)));
        }
      }),
      { numRuns: Number(process.env["GATEHOUSE_FUZZ_RUNS"] ?? 300), seed },
    );
  }, 3_600_000);

  it.each(shapes)("reads %s with any id, repeatedly", (shape) => {
    const read = createMessageReader();
    for (const id of [...ids, ...ids, ...ids, ...ids.toReversed()]) {
      const body = withId(shape, id);
      expect(listParts(read(body, limits))).toEqual(listParts(readMessage(body, limits)));
    }
  });

  it.each([
    ['{"jsonrpc":"2.0","id":', ',"method":"m","params":[1]}'],
    ['{"jsonrpc":"2.0","method":"m","params":[1],"id":', "}"],
    ['{"method":"m","params":[1],"id":', ',"jsonrpc":"2.0"}'],
  ])("recognizes %s…%s from its third arrival on, with any id", (before, after) => {
    const read = createMessageReader();
    expect(["1", "22", "333", "999999999999999", "0"].map((id) => isKnown(read, `${before}${id}${after}`))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
    expect(read(Buffer.from(`${before}42${after}`), limits)).toMatchObject({
      kind: "single",
      call: { id: "42", method: "m", params: "[1]", key: "m [1]" },
    });
  });

  it("keeps the original bytes of a message even if their buffer is reused", () => {
    const read = createMessageReader();
    const text = '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}';
    const body = Buffer.from(text);
    for (let time = 0; time < 3; time += 1) read(body, limits);
    body.write("2", text.indexOf("[1]") + 1);
    expect(read(body, limits)).toMatchObject({ kind: "single", call: { id: "1", method: "m", params: "[2]" } });
    expect(isKnown(read, text)).toBe(true);
  });

  it("never takes a truncated call for a cached one in the same slot", () => {
    const read = createMessageReader();
    // In the table of messages, one in 1,024 pairs shares a slot.
    for (let number = 0; number < 8_000; number += 1) {
      const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"m","params":[${number}]}`);
      for (let time = 0; time < 3; time += 1) read(body, limits);
      expect(read(body.subarray(0, -1), limits)).toMatchObject({ call: { id: "null", error: { code: -32_700 } } });
    }
  });

  it("does not cache long messages", () => {
    const read = createMessageReader();
    const known = [10, 1_000].map((length) => {
      const text = `{"jsonrpc":"2.0","id":1,"method":"m","params":["${"x".repeat(length)}"]}`;
      return [1, 2, 3].map(() => isKnown(read, text)).at(-1);
    });
    expect(known).toEqual([true, false]);
  });

  it("reads a message again if other limits may reject it", () => {
    const read = createMessageReader();
    const text = '{"jsonrpc":"2.0","id":1,"method":"m","params":[[[1]]]}';
    for (const [bounds, known] of [
      [limits, true],
      [{ ...limits, depth: 3 }, false],
      [limits, true],
    ] as const) {
      const body = Buffer.from(text);
      for (let time = 0; time < 3; time += 1)
        expect(listParts(read(body, bounds))).toEqual(listParts(readMessage(body, bounds)));
      expect(isKnown(read, text, bounds)).toBe(known);
    }
  });

  it("retains no more memory than the cached messages", async () => {
    const grownMegabytes = () => {
      collectGarbage();
      return (process.memoryUsage().arrayBuffers - before) / 1e6;
    };
    const before = process.memoryUsage().arrayBuffers;
    const read = createMessageReader();
    for (let number = 0; number < 2_000; number += 1) {
      const text = `{"jsonrpc":"2.0","id":1,"method":"m","params":[${number}]}`;
      for (let time = 0; time < 3; time += 1) read(Buffer.from(text), limits);
      // Between two messages, a gateway also allocates small buffers.
      for (let other = 0; other < 100; other += 1) Buffer.from("x".repeat(1_000));
    }
    await until("unneeded memory is freed", generousMs, () => grownMegabytes() < 5);
    expect(isKnown(read, '{"jsonrpc":"2.0","id":1,"method":"m","params":[1999]}')).toBe(true);
  });
});
