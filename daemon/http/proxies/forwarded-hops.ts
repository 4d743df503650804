import type { IncomingHttpHeaders } from "node:http";
import { parse } from "forwarded-parse";

/** What a request says about the way that it came; each header joined by commas where it was sent several times. */
export type ForwardedBy = Readonly<{ forwardedFor: string | undefined; forwarded: string | undefined }>;

/** What the headers that node:http has read say of the way. */
export function forwardedBy(headers: IncomingHttpHeaders): ForwardedBy {
  return { forwardedFor: joined(headers["x-forwarded-for"]), forwarded: joined(headers["forwarded"]) };
}

function joined(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(",") : value;
}

/**
 * The nodes that a header names, the nearest last: X-Forwarded-For, or `for` of RFC 7239's Forwarded, empty where an element has none. A
 * header that can't be read names nobody.
 */
export function forwardedHops(header: "x-forwarded-for" | "forwarded", value: string): readonly string[] {
  if (header === "x-forwarded-for") return value.split(",");
  try {
    // An empty element, as nginx makes of a header that a request lacks, means nothing (RFC 9110, section 5.6.1).
    return parse(value.replace(/^[\t ,]+/, "")).map((element) => element["for"] ?? "");
  } catch {
    // A client may send what no proxy would write; then the proxy's own address is all that is known.
    return [];
  }
}
