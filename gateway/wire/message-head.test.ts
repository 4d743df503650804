import { expect, test } from "vitest";
import { createMessageHead, findBodyLocation, shareMessageHeads } from "./message-head.ts";

const format = (length: string, more = "") =>
  `POST / HTTP/1.1\r\nHost: a\r\n${more}Content-Length: ${length}\r\nAccept: *\r\n\r\n`;

test("heads that differ by their length alone are one object, and find what their own would", () => {
  const keep = shareMessageHeads();
  const [one, other] = [format("7"), format("1234")];
  expect(keep(one)).toBe(keep(other));
  for (const head of [one, other]) {
    expect(keep(head)).toEqual(createMessageHead(head));
    const known = keep(head) ?? expect.unreachable();
    expect(findBodyLocation(Buffer.from(format("56")), known)).toEqual({
      startsAt: format("56").length,
      lengthBytes: 56,
    });
  }
});

test("heads that differ by anything else are told apart, and none is kept without exactly one length", () => {
  const keep = shareMessageHeads();
  expect(keep(format("7", "X-Count: 1\r\n"))).not.toEqual(keep(format("7", "X-Count: 2\r\n")));
  for (const head of ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", format("7", "Content-Length: 7\r\n")]) {
    expect(keep(head)).toBeUndefined();
  }
});
