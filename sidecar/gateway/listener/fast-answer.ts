import type { AnswerSource } from "../dispatch/answer-sink.ts";
import { refusedHeaders, streamHeaders, wholeHeaders, type AnswerHeaders } from "./answer-head.ts";

/** Heads of answers as the fast path writes them: byte for byte what node:http writes for the same headers. */
export type FastAnswerHeads = Readonly<{
  whole: (source: AnswerSource, lengthBytes: number, isLast: boolean) => string;
  refused: (retryAfterSeconds: number, lengthBytes: number, isLast: boolean) => string;
  stream: (source: AnswerSource, lengthBytes: number | undefined, isLast: boolean) => string;
}>;

/** What heads tell beside the answer: the time in milliseconds since 1970, and what follows an answer's own headers. */
export type FastAnswerHeadsDependencies = Readonly<{ wallClock: () => number; ageHeaders: () => AnswerHeaders }>;

/** Makes heads. `keepAliveMs` is what node:http is told, too. Age and date are made once a second. */
export function makeFastAnswerHeads(
  keepAliveMs: number,
  { wallClock, ageHeaders }: FastAnswerHeadsDependencies,
): FastAnswerHeads {
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n`;
  const starts = new Map<AnswerSource, string>();
  let second = -1;
  let ageAndDate = "";

  const tail = (isLast: boolean) => {
    const now = wallClock();
    if (Math.floor(now / 1_000) !== second) {
      second = Math.floor(now / 1_000);
      ageAndDate = `${lines(ageHeaders())}Date: ${new Date(now).toUTCString()}\r\n`;
    }
    return `${ageAndDate}${isLast ? "Connection: close\r\n" : keepAlive}`;
  };
  /** The start of a whole answer up to the number of its length, which is the last of its headers. */
  const wholeStart = (source: AnswerSource) => {
    const start = starts.get(source) ?? headText("200 OK", wholeHeaders(source, 0)).slice(0, -"0\r\n".length);
    starts.set(source, start);
    return start;
  };
  return {
    whole: (source, lengthBytes, isLast) => `${wholeStart(source)}${lengthBytes}\r\n${tail(isLast)}\r\n`,
    refused: (retryAfterSeconds, lengthBytes, isLast) =>
      `${headText("429 Too Many Requests", refusedHeaders(retryAfterSeconds, lengthBytes))}${tail(isLast)}\r\n`,
    stream: (source, lengthBytes, isLast) => {
      const chunked = lengthBytes === undefined ? "Transfer-Encoding: chunked\r\n" : "";
      return `${headText("200 OK", streamHeaders(source, lengthBytes))}${tail(isLast)}${chunked}\r\n`;
    },
  };
}

function headText(status: string, headers: AnswerHeaders): string {
  return `HTTP/1.1 ${status}\r\n${lines(headers)}`;
}

function lines(headers: AnswerHeaders): string {
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
}
