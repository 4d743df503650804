import * as fc from "fast-check";

/** Streams that are made at a time. */
const madeAtOnce = 1_000;

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
const bodies = [
  call,
  '{"jsonrpc":"2.0","id":"\\u00e9","method":"eth_nothing","params":[]}',
  '{"jsonrpc":"2.0","id":2,"method":"eth_syncing","params":[]}',
  `[${call},${call}]`,
  '{"jsonrpc":"2.0","method":"eth_coinbase"}',
  "{",
  "",
  '{"jsonrpc":"2.0","id":3,"method":"eth_call","params":{}}',
];
const headers = [
  "Content-Type: application/json",
  "content-type: application/json; charset=utf-8",
  "Content-Type: text/plain",
  "Content-Type: application/json-rpc",
  "Content-Type:application/json ",
  "User-Agent: x",
  "Accept: */*",
  "Connection: keep-alive",
  "Connection: close",
  "Connection: Upgrade",
  "Expect: 100-continue",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding : chunked",
  "X-Unknown: 1",
  "Folded: a\r\n b",
  "Host: other",
  "Content-Length: 3",
  "Content-Length: +48",
  "Bad Header: 1",
  "NoColon",
  "Origin: https://page.example",
  "Cookie: a=b",
  "Cookie: c=\u00e9\tx",
  "X-Empty:",
  "X_Under!#$%&'*+.^`|~-: 1",
  "X-Forwarded-For: 10.0.0.1, 10.0.0.2",
  "Forwarded: for=10.0.0.1;proto=https",
  "Connection: keep-alive, TE",
  "Connection: X-Own",
  "Connection: keep-alive,close",
  "X-Forwarded-For: 10.0.0.3",
  "Forwarded: for=10.0.0.4",
  "X-Spaced:   1  ",
  "Expect: something",
  "Proxy-Connection: close",
  "Keep-Alive: timeout=1",
  "Content-Encoding: identity",
  "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
];
const requestLines = [
  ...Array.from({ length: 8 }, () => "POST / HTTP/1.1"),
  "POST /?key=a HTTP/1.1",
  "POST /?a#b HTTP/1.1",
  "GET /? HTTP/1.1",
  "POST /x HTTP/1.1",
  "POST /../ HTTP/1.1",
  "POST http://a/ HTTP/1.1",
  "POST / HTTP/1.0",
  "POST  / HTTP/1.1",
  "GET / HTTP/1.1",
  "PUT / HTTP/1.1",
  "OPTIONS / HTTP/1.1",
  "post / HTTP/1.1",
  "BREW / HTTP/9",
];

/** One request, right or wrong. */
export type Part = Readonly<{
  line: string;
  extra: readonly string[];
  body: string;
  newline: string;
  length: number;
  type: boolean;
  /** How a chunked body is written; absent: with its length. */
  chunks?: ChunkStyle | undefined;
}>;

/** A chunked body, right or wrong: what stands before and after its sizes, and how long its chunks are. */
type ChunkStyle = Readonly<{ size: number; before: string; after: string; end: string }>;

const plainChunks = fc.record({
  size: fc.integer({ min: 1, max: 80 }),
  before: fc.constant(""),
  after: fc.constant(""),
  end: fc.constant("0\r\n\r\n"),
});
const chunkStyle = fc.oneof(
  plainChunks,
  fc.record({
    size: fc.integer({ min: 1, max: 80 }),
    before: fc.constantFrom("", "0", "000", "+", "0x", " ", "-"),
    after: fc.constantFrom("", ";a=b", ' ;a="b"', " ", "g", "\r"),
    end: fc.constantFrom(
      "0\r\n\r\n",
      "00\r\n\r\n",
      "0\r\nTrailer: x\r\n\r\n",
      "0\n\n",
      "0;a\r\n\r\n",
      "\r\n",
      "fffffffff\r\n",
    ),
  }),
);

const part: fc.Arbitrary<Part> = fc.record({
  line: fc.constantFrom(...requestLines),
  extra: fc.array(fc.constantFrom(...headers), { maxLength: 2 }),
  body: fc.constantFrom(...bodies),
  newline: fc.constantFrom("\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n"),
  length: fc.constantFrom(...Array.from({ length: 20 }, () => 0), 1, -1),
  type: fc.constantFrom(true, true, true, true, false),
  chunks: fc.option(chunkStyle, { nil: undefined, freq: 4 }),
});

/** The bytes of a request, as a binary string. */
export function bytesOf({ line, extra, body, newline, length, type, chunks }: Part): string {
  const lines = [line, "Host: localhost", ...(type ? ["Content-Type: application/json"] : []), ...extra];
  if (chunks !== undefined)
    return [...lines, "Transfer-Encoding: chunked", "", chunked(body, chunks, newline)].join(newline);
  return [...lines, `Content-Length: ${body.length + length}`, "", body].join(newline);
}

function chunked(body: string, { size, before, after, end }: ChunkStyle, newline: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < body.length; at += size) pieces.push(body.slice(at, at + size));
  const written = pieces.map((piece) => `${before}${piece.length.toString(16)}${after}${newline}${piece}${newline}`);
  return `${written.join("")}${end}`;
}

/** A byte in place of another, or put before it; `at` is its place in thousandths of the stream. */
const oddByte = fc.record({ at: fc.nat(999), byte: fc.nat(255), isExtra: fc.boolean() });

/** One request of any shape, some with an odd byte, cut anywhere. */
const alone = fc.record({
  parts: part.map((one) => [one]),
  oddBytes: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(oddByte, { maxLength: 2 }) },
  ),
  cuts: fc.array(fc.nat(999), { maxLength: 3 }),
  perRequest: fc.constant(false),
});

/** Several well-formed requests on one connection, in any pieces. */
const several = fc.record({
  parts: fc.array(
    fc.record({
      line: fc.constantFrom("POST / HTTP/1.1", "POST / HTTP/1.1", "POST /x HTTP/1.1", "OPTIONS / HTTP/1.1"),
      extra: fc.array(
        fc.constantFrom(
          "User-Agent: x",
          "X-Unknown: 1",
          "Connection: keep-alive",
          "Origin: https://a",
          "Origin: https://page.example",
        ),
        {
          maxLength: 1,
        },
      ),
      body: fc.constantFrom(...bodies),
      newline: fc.constant("\r\n"),
      length: fc.constant(0),
      type: fc.constant(true),
      chunks: fc.option(plainChunks, { nil: undefined, freq: 3 }),
    }),
    { minLength: 2, maxLength: 5 },
  ),
  oddBytes: fc.constant([]),
  cuts: fc.array(fc.nat(999), { maxLength: 3 }),
  perRequest: fc.boolean(),
});

const stream = fc.oneof(alone, several);

type OddByte = Readonly<{ at: number; byte: number; isExtra: boolean }>;

/** What is sent over one connection: requests, with odd bytes in them, cut anywhere or sent one at a time. */
export type GivenStream = Readonly<{
  parts: readonly Part[];
  oddBytes: readonly OddByte[];
  cuts: readonly number[];
  perRequest: boolean;
}>;

/** The bytes that are sent at a time. */
export function piecesOf({ parts, oddBytes, cuts, perRequest }: GivenStream): readonly Buffer[] {
  const texts = parts.map(bytesOf);
  if (perRequest) return texts.map((text) => Buffer.from(text, "latin1"));
  const all = oddBytes.reduce(withOddByte, texts.join(""));
  const places = [0, ...cuts.map((cut) => Math.floor((cut * all.length) / 1_000)).sort((a, b) => a - b), all.length];
  return places.slice(1).map((end, at) => Buffer.from(all.slice(places[at], end), "latin1"));
}

function withOddByte(text: string, { at, byte, isExtra }: OddByte): string {
  const place = Math.floor((at * text.length) / 1_000);
  return text.slice(0, place) + String.fromCharCode(byte) + text.slice(isExtra ? place : place + 1);
}

/** Generated streams, always the same ones from a seed. */
export function* streamsFrom(seed: number, runs: number): Generator<GivenStream> {
  for (let made = 0; made < runs; made += madeAtOnce) {
    yield* fc.sample(stream, { seed: seed + made, numRuns: Math.min(madeAtOnce, runs - made) });
  }
}
