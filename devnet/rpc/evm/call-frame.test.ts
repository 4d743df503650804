import { expect, test } from "vitest";
import { buildFrames, type ParityTrace } from "./call-frame.ts";

const a = `0x${"aa".repeat(20)}` as const;
const b = `0x${"bb".repeat(20)}` as const;
const c = `0x${"cc".repeat(20)}` as const;

const traces: readonly ParityTrace[] = [
  {
    type: "call",
    action: { callType: "call", from: a, to: b, gas: "0x64", input: "0x01", value: "0x5" },
    result: { gasUsed: "0x32", output: "0x02" },
    traceAddress: [],
  },
  {
    type: "call",
    action: { callType: "staticcall", from: b, to: c, gas: "0x10", input: "0x", value: "0x0" },
    error: "Reverted",
    traceAddress: [0],
  },
  {
    type: "create",
    action: { creationMethod: "create2", from: b, gas: "0x20", init: "0x60", value: "0x0" },
    result: { address: c, code: "0x00", gasUsed: "0x9" },
    traceAddress: [1],
  },
  { type: "suicide", action: { address: c, refundAddress: a, balance: "0x7" }, traceAddress: [1, 0] },
];

test("flat traces become callTracer's tree", () => {
  expect(buildFrames(traces, false)).toEqual({
    type: "CALL",
    from: a,
    to: b,
    gas: "0x64",
    gasUsed: "0x32",
    input: "0x01",
    output: "0x02",
    value: "0x5",
    calls: [
      { type: "STATICCALL", from: b, to: c, gas: "0x10", gasUsed: "0x10", input: "0x", error: "execution reverted" },
      {
        type: "CREATE2",
        from: b,
        to: c,
        gas: "0x20",
        gasUsed: "0x9",
        input: "0x60",
        output: "0x00",
        value: "0x0",
        calls: [{ type: "SELFDESTRUCT", from: c, to: a, gas: "0x0", gasUsed: "0x0", input: "0x", value: "0x7" }],
      },
    ],
  });
});

test("only the outermost call on request", () => {
  expect(buildFrames(traces, true).calls).toBeUndefined();
});
