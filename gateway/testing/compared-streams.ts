import { formatRequest, cutStream, createStreams, type GivenStream } from "./request-streams.ts";
import { sendWhole } from "./whole-exchange.ts";

const badRequest = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
const last = '{"jsonrpc":"2.0","id":"last","method":"eth_coinbase"}';
const lastRequest = Buffer.from(
  formatRequest({ line: "POST / HTTP/1.1", extra: [], body: last, newline: "\r\n", length: 0, type: true }),
);
const lastAnswer = '{"jsonrpc":"2.0","id":"last","result":"0x0"}';
/** Most times that a stream is sent again whose answers the system discarded, each time more slowly. */
const attempts = 20;
/** Silence that ends an exchange, and that of a second try: on a busy machine an answer may take longer. */
const quietMs = 5;
const longQuietMs = 500;

/** Streams to compare: `runs` of them, made from `seed`, of which `atOnce` are sent at a time. */
export type ComparedStreamsOptions = Readonly<{
  /** URLs of the two servers. */
  urls: readonly [string, string];
  seed: number;
  runs: number;
  atOnce: number;
  /** Called after every stream; the two answers are the same but for the date, or the stream is a finding. */
  compared: (stream: GivenStream, one: string, other: string) => void;
}>;

/**
 * Sends generated streams of bytes to two servers and passes on what each answered: all that came until it closed the
 * connection, or answered a last request that it can't mistake.
 */
export async function compareStreams({ urls, seed, runs, atOnce, compared }: ComparedStreamsOptions): Promise<void> {
  const streams = createStreams(seed, runs);
  const both = async (stream: GivenStream, silenceMs: number): Promise<readonly [string, string]> => {
    const [one, other] = await Promise.all([
      readAnswers(urls[0], stream, silenceMs),
      readAnswers(urls[1], stream, silenceMs),
    ]);
    return [selectComparable(one, other), selectComparable(other, one)];
  };
  const worker = async () => {
    for (const stream of streams) {
      const [one, other] = await both(stream, quietMs);
      // What really differs does so with more time, too.
      compared(stream, ...(one === other ? ([one, other] as const) : await both(stream, longQuietMs)));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

async function readAnswers(url: string, stream: GivenStream, silenceMs: number): Promise<string> {
  const options = { url, last: lastRequest, lastAnswer, expected: stream.parts.length, quietMs: silenceMs };
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const text = await sendWhole(cutStream(stream), { ...options, turnsBetween: 3 * attempt });
    if (text !== undefined) return text;
  }
  throw new Error(`${attempts} times, ${url} closed before all of ${JSON.stringify(stream)} was sent`);
}

/**
 * Returns the part of an answer to compare. If bytes that are not HTTP come in one piece with requests before them, node:http gives up as it reads
 * them, and which of its answers were out by then, including the 400, depends on how the piece reached its parser.
 */
function selectComparable(text: string, other: string): string {
  if (!text.endsWith(badRequest) && !other.endsWith(badRequest)) return text;
  const [own = "", others = ""] = [text, other].map((all) =>
    all.endsWith(badRequest) ? all.slice(0, -badRequest.length) : all,
  );
  return own.startsWith(others) || others.startsWith(own) ? badRequest : text;
}
