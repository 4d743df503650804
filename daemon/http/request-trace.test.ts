import { describe, expect, it } from "vitest";
import { readTraceContext, formatTraceHeaders } from "./request-trace.ts";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const stateOf = (tracestate: string) => readTraceContext(traceparent, tracestate)?.tracestate;

describe("a client's trace context", () => {
  it("is read from headers and written unchanged", () => {
    const context = readTraceContext(traceparent, "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE");
    expect(formatTraceHeaders(context!)).toBe(
      `traceparent: ${traceparent}\r\ntracestate: rojo=00f067aa0ba902b7,congo=t61rcWkgMzE\r\n`,
    );
    expect(formatTraceHeaders(readTraceContext(traceparent, undefined)!)).toBe(`traceparent: ${traceparent}\r\n`);
  });

  it.each([
    "00-nonsense-01",
    `ff${traceparent.slice(2)}`,
    `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
    traceparent.toUpperCase(),
    `${traceparent}\r\nX: 1`,
  ])("is undefined without a well-formed traceparent: %j", (given) => {
    expect(readTraceContext(given, "a=1")).toBeUndefined();
  });

  it("keeps a well-formed tracestate, without empty members", () => {
    expect(stateOf("a=1,,  b@c=x y ,")).toBe("a=1,b@c=x y");
    expect(stateOf(Array.from({ length: 32 }, (_, at) => `k${at}=v`).join(","))).toContain("k31=v");
  });

  it.each(["", ",", "A=1", "a", "a=", "a=b=c", "a=\u{7f}", "a=1\r\nX: 1", "a=\u{e9}", `a=${"v".repeat(511)}`])(
    "drops an invalid tracestate: %j",
    (given) => expect(stateOf(given)).toBeUndefined(),
  );

  it("drops a tracestate with too many members", () => {
    expect(stateOf(Array.from({ length: 33 }, (_, at) => `k${at}=v`).join(","))).toBeUndefined();
  });
});
