import { fastHeadBytes, readFastHead, type FastHead } from "./fast-head.ts";
import { headEnd, knownHead, placeOfBody, type BodyPlace, type KnownHead } from "../wire/known-head.ts";
import type { RequestFacts } from "./request-facts.ts";

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

/** Makes the reader of a connection from this address. */
export function readFastRequests(remoteAddress: string, { bodyBytes, isAllowedHost }: FastRequestRules): FastRequests {
  let known: KnownHead | undefined;
  let facts: RequestFacts | undefined;
  const readHead = (bytes: Buffer): BodyPlace | undefined => {
    const end = bytes.subarray(0, fastHeadBytes).indexOf(headEnd);
    if (end === -1) return undefined;
    const startsAt = end + headEnd.length;
    const text = bytes.toString("latin1", 0, startsAt);
    const head = readFastHead(text);
    if (head === undefined || !isAllowedHost(head.host)) return undefined;
    known = knownHead(text);
    facts = factsOf(remoteAddress, head);
    return { startsAt, lengthBytes: head.contentLengthBytes };
  };
  return {
    bodyOf: (bytes) => {
      const place = (known === undefined ? undefined : placeOfBody(bytes, known)) ?? readHead(bytes);
      if (place === undefined || place.lengthBytes > bodyBytes()) return undefined;
      const end = place.startsAt + place.lengthBytes;
      return bytes.length < end ? undefined : bytes.subarray(place.startsAt, end);
    },
    facts: () => facts,
  };
}

function factsOf(
  remoteAddress: string,
  { authorization, forwardedFor, traceContext, requestId }: FastHead,
): RequestFacts {
  return { remoteAddress, authorization, forwardedFor, traceContext, requestId };
}
