import { readTraceContext, type TraceContext } from "../observe/trace-context.ts";
import { readHeaderLines, type HeaderValues } from "./header-lines.ts";
import { isJsonRpcType, validRequestId } from "./request-facts.ts";

/** How the end of a request's body is told (RFC 9112, section 6). */
export type BodyFraming = Readonly<{ kind: "length"; bytes: number } | { kind: "chunked" }>;

/** Methods of the requests that the fast path answers. */
export type FastMethod = "POST" | "GET" | "HEAD" | "OPTIONS";

/** What the fast path needs of a request's head. */
export type FastHead = Readonly<{
  method: FastMethod;
  framing: BodyFraming;
  authorization: string | undefined;
  forwardedFor: string | undefined;
  forwarded: string | undefined;
  traceContext: TraceContext | undefined;
  requestId: string | undefined;
  origin: string | undefined;
  host: string;
  /** Whether the client waits to be told to go on before it sends the body (RFC 9110, section 10.1.1). */
  isAwaited: boolean;
}>;

/** Members of Connection that leave a connection of HTTP/1.1 open: all but one. An upgrade that is offered is ignored (RFC 9110, section 7.8). */
const keptConnection = /^[\w!#$%&'*+.^`|~-]+(?: ?, ?[\w!#$%&'*+.^`|~-]+)*$/;
const closed = /(?:^|[ ,])close(?:$|[ ,])/i;

const methods = ["POST", "GET", "HEAD", "OPTIONS"] as const;
const requestLines: ReadonlyMap<string, FastMethod> = new Map(
  methods.map((method) => [`${method} / HTTP/1.1\r\n`, method]),
);
/** The same with a query, which means nothing here: some clients put a name or a key in it. */
const queryLine = /^(POST|GET|HEAD|OPTIONS) \/\?[\w.~!$&'()*+,;=:@%/?-]* HTTP\/1\.1\r\n$/;
const queryStart = /^(?:POST|GET|HEAD|OPTIONS) \/\?[\w.~!$&'()*+,;=:@%/?-]*(?: |$)/;

/** Longest head that the fast path reads. */
export const fastHeadBytes = 8_192;

const length = /^(?:0|[1-9]\d{0,8})$/;

/** Whether what came of a request so far may be the start of one for the fast path. */
export function mayBeFast(start: string): boolean {
  for (const line of requestLines.keys()) if (line.startsWith(start) || start.startsWith(line)) return true;
  return queryStart.test(start);
}

/**
 * Reads the head of a well-formed request of HTTP/1.1 to `/`, with any query: a POST of JSON with one framing, or a GET, HEAD or OPTIONS without a body.
 * Headers that mean nothing to the gateway are passed over, whatever they are. Undefined for every other head: HTTP/1.0, another
 * path or type, `Connection: close`, a WebSocket's upgrade, folded lines, both framings (RFC 9112). `head` ends with the empty line.
 */
export function readFastHead(head: string): FastHead | undefined {
  const firstEnd = head.indexOf("\r\n") + 2;
  const method = methodOf(head.slice(0, firstEnd));
  if (method === undefined) return undefined;
  const headers = readHeaderLines(head, firstEnd);
  const host = headers?.host;
  if (headers === undefined || host === undefined || !isPlainConnection(headers)) return undefined;
  const { expect } = headers;
  const framing = readFraming(headers);
  if (framing === undefined || (expect !== undefined && !isContinued(expect, framing))) return undefined;
  if (method === "POST" ? !isJsonRpcType(headers["content-type"]) : !isEmpty(framing)) return undefined;
  return {
    method,
    framing,
    authorization: headers.authorization,
    forwardedFor: headers["x-forwarded-for"],
    forwarded: headers.forwarded,
    traceContext: readTraceContext(headers.traceparent, headers.tracestate),
    requestId: validRequestId(headers["x-request-id"]),
    origin: headers.origin,
    host,
    isAwaited: expect !== undefined,
  };
}

function methodOf(line: string): FastMethod | undefined {
  const known = requestLines.get(line);
  if (known !== undefined) return known;
  const named = queryLine.exec(line)?.[1];
  return methods.find((method) => method === named);
}

function isPlainConnection({ connection, upgrade, "proxy-connection": proxyConnection }: HeaderValues): boolean {
  if (proxyConnection !== undefined) return false;
  if (upgrade !== undefined && /websocket/i.test(upgrade)) return false;
  if (connection === undefined || connection === "keep-alive") return true;
  return keptConnection.test(connection) && !closed.test(connection);
}

function readFraming({
  "transfer-encoding": encoding,
  "content-length": lengthText,
}: HeaderValues): BodyFraming | undefined {
  if (encoding === undefined) {
    const bytes = lengthText ?? "0";
    return length.test(bytes) ? { kind: "length", bytes: Number(bytes) } : undefined;
  }
  return lengthText === undefined && encoding.toLowerCase() === "chunked" ? { kind: "chunked" } : undefined;
}

/** A body of chunks may turn out to be node:http's, which would tell the client again to go on. */
function isContinued(expect: string, framing: BodyFraming): boolean {
  return expect.toLowerCase() === "100-continue" && framing.kind === "length";
}

function isEmpty(framing: BodyFraming): boolean {
  return framing.kind === "length" && framing.bytes === 0;
}
