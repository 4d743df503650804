import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMessageHead } from "../wire/message-head.ts";
import { findFailure, createResponseHeadReader } from "./node-response.ts";

const head = (...lines: readonly string[]) => Buffer.from(["HTTP/1.1 200 OK", ...lines, "", "body"].join("\r\n"));
const defaultHead = { status: 200, chunked: false, keepAlive: true };
const about = (status: number, lengthBytes: number) => ({ ...defaultHead, status, lengthBytes });

describe("the reader of node response heads", () => {
  it("finds the length of each body, even if only the length changes", () => {
    const read = createResponseHeadReader(createMessageHead);
    for (const length of ["4", "17", "0", "123456789", "1234567890", "4"]) {
      const bytes = head("Content-Type: application/json", `Content-Length: ${length}`, "Vary: Origin");
      expect(read(bytes)).toEqual({
        head: { ...defaultHead, lengthBytes: Number(length) },
        bodyAt: bytes.length - "body".length,
      });
    }
  });

  it("waits for the end of a head, known or not", () => {
    const read = createResponseHeadReader(createMessageHead);
    const bytes = head("Content-Length: 4", "Vary: Origin");
    const bodyAt = bytes.length - "body".length;
    for (const end of [1, 20, 34, bodyAt - 1]) expect(read(bytes.subarray(0, end))).toBe("unfinished");
    expect(read(bytes)).toMatchObject({ bodyAt });
    for (const end of [1, 20, 34, bodyAt - 1]) expect(read(bytes.subarray(0, end))).toBe("unfinished");
  });

  it.each([
    ["two lengths", head("Content-Length: 4", "Content-Length: 5")],
    ["a length with a sign", head("Content-Length: +4")],
    ["two values in a length", head("Content-Length: 4 4")],
    ["a different protocol", Buffer.from("SSH-2.0-OpenSSH\r\n\r\n")],
    ["an unknown version", Buffer.from("HTTP/1.2 200 OK\r\n\r\n")],
  ])("rejects %s, even after good responses", (_, bytes) => {
    const read = createResponseHeadReader(createMessageHead);
    expect(read(bytes)).toBe("bad");
    read(head("Content-Length: 4"));
    expect(read(bytes)).toBe("bad");
  });

  it("reads consecutive heads like separate ones", () => {
    const digits = fc.constantFrom("0", "4", "04", "4 ", "42", "123456789", "1234567890", "+4", "");
    const name = fc.constantFrom("Content-Length: ", "content-length:", "Content-Length:  ", "X-Content-Length: ");
    const line = fc.oneof(
      fc.constantFrom("Date: one", "Date: two", "Connection: close", "Transfer-Encoding: chunked", "Vary: Origin"),
      fc.tuple(name, digits).map((parts) => parts.join("")),
    );
    const bytes = fc.array(line, { maxLength: 4 }).map((lines) => head(...lines));
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 12 }), (all) => {
        const read = createResponseHeadReader(createMessageHead);
        for (const one of all) expect(read(one)).toEqual(createResponseHeadReader(createMessageHead)(one));
      }),
      { numRuns: 2_000 },
    );
  });

  it("distinguishes an unavailable node from one that sends garbage", () => {
    const limit = 100;
    expect(findFailure(about(200, 100), limit)).toBeUndefined();
    expect(findFailure(about(200, 101), limit)).toBe("tooLarge");
    expect(findFailure(about(502, 1), limit)).toBe("unavailable");
    expect(findFailure(about(503, 1), limit)).toBe("unavailable");
    expect(findFailure(about(404, 1), limit)).toBe("badAnswer");
  });
});
