import * as fc from "fast-check";
import { formatChunked, chunkStyle, fullChunks, plainChunks, type ChunkStyle } from "./chunk-styles.ts";

const streamsPerSample = 1_000;

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
  "Connection: close",
  "Connection: Close",
  "Upgrade: h2c",
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
  "POST / HTTP/1.0",
  "POST /? HTTP/1.0",
  "GET / HTTP/1.0",
  "OPTIONS / HTTP/1.0",
  "POST / HTTP/1.2",
  "POST http://page.example:80?a HTTP/1.1",
  "POST HTTPS://a:99999/ HTTP/1.1",
  "OPTIONS http://a HTTP/1.1",
  "POST https://a/?key=a HTTP/1.0",
  "POST http://a/x HTTP/1.1",
  "POST  / HTTP/1.1",
  "GET / HTTP/1.1",
  "PUT / HTTP/1.1",
  "OPTIONS / HTTP/1.1",
  "post / HTTP/1.1",
  "BREW / HTTP/9",
];

export type Part = Readonly<{
  line: string;
  extra: readonly string[];
  body: string;
  newline: string;
  length: number;
  type: boolean;
  /** Style of a chunked body; if absent, the body is sent with its length. */
  chunks?: ChunkStyle | undefined;
}>;

const part: fc.Arbitrary<Part> = fc.record({
  line: fc.constantFrom(...requestLines),
  extra: fc.array(fc.constantFrom(...headers), { maxLength: 2 }),
  body: fc.constantFrom(...bodies),
  newline: fc.constantFrom("\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n"),
  length: fc.constantFrom(...Array.from({ length: 20 }, () => 0), 1, -1),
  type: fc.constantFrom(true, true, true, true, false),
  chunks: fc.option(chunkStyle, { nil: undefined, freq: 4 }),
});

export function formatRequest({ line, extra, body, newline, length, type, chunks }: Part): string {
  const lines = [line, "Host: localhost", ...(type ? ["Content-Type: application/json"] : []), ...extra];
  if (chunks !== undefined)
    return [...lines, "Transfer-Encoding: chunked", "", formatChunked(body, chunks, newline)].join(newline);
  return [...lines, `Content-Length: ${body.length + length}`, "", body].join(newline);
}

/** A byte that replaces another byte or is inserted before it; `at` is its position in thousandths of the stream. */
const oddByte = fc.record({ at: fc.nat(999), byte: fc.nat(255), isExtra: fc.boolean() });

/** One request of any shape, sometimes with an odd byte, split anywhere. */
const alone = fc.record({
  parts: part.map((one) => [one]),
  oddBytes: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(oddByte, { maxLength: 2 }) },
  ),
  cuts: fc.array(fc.nat(999), { maxLength: 3 }),
  perRequest: fc.constant(false),
});

const wellFormed = (lines: readonly string[], ...choices: (readonly string[])[]): fc.Arbitrary<Part> =>
  fc.record({
    line: fc.constantFrom(...lines),
    extra: fc.tuple(...choices.map((some) => fc.constantFrom(...some))),
    body: fc.constantFrom(...bodies),
    newline: fc.constant("\r\n"),
    length: fc.constant(0),
    type: fc.constant(true),
    chunks: lines.some((line) => line.endsWith("1.0"))
      ? fc.constant(undefined)
      : fc.option(fc.oneof(plainChunks, fullChunks), { nil: undefined, freq: 3 }),
  });
const harmlessHeaders = [
  "Accept: */*",
  "User-Agent: x",
  "X-Unknown: 1",
  "Connection: keep-alive",
  `X-Long: ${"a".repeat(9_000)}`,
  "Origin: https://page.example",
];
const calls = ["POST / HTTP/1.1", "POST http://a/ HTTP/1.1"];
const kept = wellFormed(
  [...calls, "POST /x HTTP/1.1", "OPTIONS / HTTP/1.1"],
  [...harmlessHeaders, "Origin: https://a"],
);
/**
 * Calls, the last of which ends the connection. After an unread body, or if bytes followed the last request, the responses that node:http
 * sends before it gives up would depend on how the bytes reach its parser.
 */
const closingRequest = fc
  .tuple(
    fc.array(wellFormed(calls, harmlessHeaders), { minLength: 1, maxLength: 4 }),
    fc.oneof(
      wellFormed(["POST / HTTP/1.0"], ["Connection: close", "Origin: https://page.example"]),
      wellFormed(calls, ["Connection: close"]),
    ),
  )
  .map(([first, last]) => first.concat(last));

/** Several well-formed requests on one connection, split into any pieces. */
const severalRequests = fc.record({
  parts: fc.oneof(fc.array(kept, { minLength: 2, maxLength: 5 }), closingRequest),
  oddBytes: fc.constant([]),
  cuts: fc.array(fc.nat(999), { maxLength: 3 }),
  perRequest: fc.boolean(),
});

const stream = fc.oneof(alone, severalRequests);

type OddByte = Readonly<{ at: number; byte: number; isExtra: boolean }>;

/** Bytes sent on one connection: requests, some with odd bytes, split anywhere or sent one at a time. */
export type GivenStream = Readonly<{
  parts: readonly Part[];
  oddBytes: readonly OddByte[];
  cuts: readonly number[];
  perRequest: boolean;
}>;

export function cutStream({ parts, oddBytes, cuts, perRequest }: GivenStream): readonly Buffer[] {
  const texts = parts.map(formatRequest);
  if (perRequest) return texts.map((text) => Buffer.from(text, "latin1"));
  const all = oddBytes.reduce(withOddByte, texts.join(""));
  const cutOffsets = [
    0,
    ...cuts.map((cut) => Math.floor((cut * all.length) / 1_000)).sort((a, b) => a - b),
    all.length,
  ];
  return cutOffsets.slice(1).map((end, at) => Buffer.from(all.slice(cutOffsets[at], end), "latin1"));
}

function withOddByte(text: string, { at, byte, isExtra }: OddByte): string {
  const position = Math.floor((at * text.length) / 1_000);
  return text.slice(0, position) + String.fromCharCode(byte) + text.slice(isExtra ? position : position + 1);
}

/** Generates streams; deterministic for a given seed. */
export function* createStreams(seed: number, runs: number): Generator<GivenStream> {
  for (let made = 0; made < runs; made += streamsPerSample) {
    yield* fc.sample(stream, { seed: seed + made, numRuns: Math.min(streamsPerSample, runs - made) });
  }
}
