import { describe, expect, it } from "vitest";
import { readFastHead } from "#gateway/listener/fast-head.ts";
import { clientShapes, writeDistinctCalls } from "./client-shapes.ts";

describe("what real clients send", () => {
  it.each(clientShapes)("is taken by the fast path as $client sends it", ({ head, body }) => {
    const read = readFastHead(`${head.join("\r\n")}\r\n\r\n`);
    expect(read?.framing).toEqual({ kind: "length", bytes: body.length });
  });

  it("makes a load of all of them", () => {
    const script = writeDistinctCalls({ shapes: clientShapes, forwardedFor: true });
    for (const { head } of clientShapes)
      expect(script).toContain(head.find((line) => /^user-agent:/i.test(line)) ?? "");
  });
});
