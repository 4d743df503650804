import { fastHeadBytes, readFastHead, type FastHead } from "./fast-head.ts";
import type { RequestFacts } from "./request-facts.ts";

const headEnd = Buffer.from("\r\n\r\n");

/** What a request has to keep to, beside its shape. */
export type FastRequestRules = Readonly<{
  bodyBytes: () => number;
  isAllowedHost: (host: string) => boolean;
}>;

/** Reads the requests of one connection. */
export type FastRequests = Readonly<{
  /** The body of the whole request that these bytes begin with; undefined when it is not for the fast path, or not whole. */
  bodyOf: (bytes: Buffer) => Buffer | undefined;
  /** What the head before that body says; undefined before the first. */
  facts: () => RequestFacts | undefined;
}>;

/** A client sends the same head again and again: it is read once, and then compared. */
type KnownHead = Readonly<{ bytes: Buffer; lengthBytes: number; facts: RequestFacts }>;

/** Makes the reader of a connection from this address. */
export function readFastRequests(remoteAddress: string, { bodyBytes, isAllowedHost }: FastRequestRules): FastRequests {
  let known: KnownHead | undefined;
  const readHead = (bytes: Buffer): KnownHead | undefined => {
    const end = bytes.subarray(0, fastHeadBytes).indexOf(headEnd);
    if (end === -1) return undefined;
    const length = end + headEnd.length;
    const head = readFastHead(bytes.toString("latin1", 0, length));
    if (head === undefined || !isAllowedHost(head.host)) return undefined;
    const own = Buffer.from(bytes.subarray(0, length));
    return { bytes: own, lengthBytes: head.contentLengthBytes, facts: factsOf(remoteAddress, head) };
  };
  return {
    bodyOf: (bytes) => {
      const head = known !== undefined && startsWith(bytes, known.bytes) ? known : readHead(bytes);
      if (head === undefined || head.lengthBytes > bodyBytes()) return undefined;
      const start = head.bytes.length;
      const end = start + head.lengthBytes;
      if (bytes.length < end) return undefined;
      known = head;
      return bytes.subarray(start, end);
    },
    facts: () => known?.facts,
  };
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  const { length } = start;
  if (bytes.length < length) return false;
  for (let at = 0; at < length; at += 1) if (bytes[at] !== start[at]) return false;
  return true;
}

function factsOf(
  remoteAddress: string,
  { authorization, forwardedFor, traceparent, requestId }: FastHead,
): RequestFacts {
  return { remoteAddress, authorization, forwardedFor, traceparent, requestId };
}
