import { expect, test } from "vitest";
import { RpcError } from "../rpc-error.ts";
import { readTracerOptions } from "./trace-methods.ts";

test("no tracer means callTracer", () => {
  for (const given of [undefined, {}, { tracer: "callTracer" }, { timeout: "30s", disableStorage: true }]) {
    expect(readTracerOptions(given)).toEqual({ tracer: "callTracer", tracerConfig: {} });
  }
});

test("callTracer's own options reach it", () => {
  const tracerConfig = { onlyTopCall: true, withLog: true };
  expect(readTracerOptions({ tracer: "callTracer", tracerConfig })).toEqual({ tracer: "callTracer", tracerConfig });
});

test.each(["prestateTracer", "muxTracer", "", "{data: [], fault: function() {}}", 5, {}, []])(
  "tracer %j is refused",
  (tracer) => {
    expect(() => readTracerOptions({ tracer })).toThrow(
      new RpcError(-32602, `tracer ${JSON.stringify(tracer)} is not supported: only callTracer is supported`),
    );
  },
);

test.each([
  [{ tracerConfig: { callTracer: {} } }, 'tracerConfig: no such key: "callTracer"; correct or remove it'],
  [{ tracerConfig: { withLog: "yes" } }, "tracerConfig: withLog: expected true or false, not text"],
  [{ tracerConfig: "x" }, "tracerConfig: expected an object { … }, not text"],
  [{ tracers: ["callTracer"] }, 'no such key: "tracers"; correct or remove it'],
])("%j is refused with the place", (given, message) => {
  expect(() => readTracerOptions(given)).toThrow(`invalid tracer options: ${message}`);
});
