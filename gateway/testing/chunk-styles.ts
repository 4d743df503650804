import * as fc from "fast-check";

/** Style of a chunked body, valid or invalid: the text before and after its sizes, and the length of its chunks. */
export type ChunkStyle = Readonly<{ size: number; before: string; after: string; end: string }>;

/** Chunks as clients usually send them. */
export const plainChunks = fc.record({
  size: fc.integer({ min: 1, max: 80 }),
  before: fc.constant(""),
  after: fc.constant(""),
  end: fc.constant("0\r\n\r\n"),
});
/** Well-formed chunks with extensions and trailers, which hardly any client sends. */
export const fullChunks = fc.record({
  size: fc.integer({ min: 1, max: 80 }),
  before: fc.constantFrom("", "0"),
  after: fc.constantFrom("", ";a", ';a=b;c="d e"'),
  end: fc.constantFrom("0\r\n\r\n", "0;a\r\n\r\n", "0\r\nX-Sum: 1\r\nX-Other:2\r\n\r\n"),
});
export const chunkStyle = fc.oneof(
  plainChunks,
  fc.record({
    size: fc.integer({ min: 1, max: 80 }),
    before: fc.constantFrom("", "0", "000", "+", "0x", " ", "-"),
    after: fc.constantFrom(
      "",
      ";a=b",
      ';a;b="c d"',
      ' ;a="b"',
      ";",
      ";a=",
      ';a="b',
      `;a=${"b".repeat(300)}`,
      " ",
      "g",
      "\r",
    ),
    end: fc.constantFrom(
      "0\r\n\r\n",
      "00\r\n\r\n",
      "0\r\nTrailer: x\r\n\r\n",
      "0;a=b\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n",
      "0\r\nContent-Length: 5\r\n\r\n",
      "0\r\nTransfer-Encoding: chunked\r\n\r\n",
      "0\r\nHost: b\r\n\r\n",
      "0\r\nX-A : 1\r\n\r\n",
      "0\r\nX-A: 1\r\n b\r\n\r\n",
      "0\r\nX-A: 1\n\r\n",
      "0\r\nX\r\n\r\n",
      "0\n\n",
      "0;a\r\n\r\n",
      "\r\n",
      "fffffffff\r\n",
    ),
  }),
);

/** Formats a body in chunks, as a binary string. */
export function formatChunked(body: string, { size, before, after, end }: ChunkStyle, newline: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < body.length; at += size) pieces.push(body.slice(at, at + size));
  const formattedChunks = pieces.map(
    (piece) => `${before}${piece.length.toString(16)}${after}${newline}${piece}${newline}`,
  );
  return `${formattedChunks.join("")}${end}`;
}
