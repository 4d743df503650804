import { isUtf8 } from "node:buffer";
import type { BadCall, Call, Message } from "./call.ts";
import { isAt, notJson, skipKey, skipSpace, skipString, skipValue } from "./json-scanner.ts";
import { rpcErrors } from "./rpc-error.ts";

/** Bounds of one message. */
export type MessageLimits = Readonly<{ batchItems: number; depth: number }>;

const parseFailure: Message = { kind: "single", call: { id: "null", error: rpcErrors.parse } };

/**
 * Reads a JSON-RPC 2.0 message: one call or a batch. Never throws; what is no call becomes the error that geth's `rpc`
 * package gives for it. Of equal keys in an envelope the last counts, as in geth; the node never sees the others.
 */
export function readMessage(body: Buffer, limits: MessageLimits): Message {
  if (!isUtf8(body)) return parseFailure;
  const start = skipSpace(body, 0);
  const reader: Reader = { bytes: body, text: body.toString("latin1"), at: start, depth: limits.depth };
  if (body[start] === 0x5b) return readBatch(reader, limits);
  const call = readCall(reader);
  if (reader.at === notJson || skipSpace(body, reader.at) !== body.length) return parseFailure;
  return { kind: "single", call };
}

/** A message as bytes, which are scanned, and as a binary string with the same offsets, which is sliced. */
type Reader = { readonly bytes: Buffer; readonly text: string; depth: number; at: number };

function readBatch(reader: Reader, limits: MessageLimits): Message {
  const { bytes } = reader;
  const calls: (Call | BadCall)[] = [];
  reader.at = skipSpace(bytes, reader.at + 1);
  reader.depth -= 1;
  if (bytes[reader.at] === 0x5d) {
    if (skipSpace(bytes, reader.at + 1) !== bytes.length) return parseFailure;
    return { kind: "single", call: { id: "null", error: rpcErrors.emptyBatch } };
  }
  for (;;) {
    if (calls.length === limits.batchItems) {
      return { kind: "single", call: { id: "null", error: rpcErrors.batchTooLarge } };
    }
    calls.push(readCall(reader));
    if (reader.at === notJson) return parseFailure;
    const end = skipSpace(bytes, reader.at);
    const code = bytes[end];
    if (code === 0x5d) return skipSpace(bytes, end + 1) === bytes.length ? { kind: "batch", calls } : parseFailure;
    if (code !== 0x2c) return parseFailure;
    reader.at = skipSpace(bytes, end + 1);
  }
}

/** Reads the value at the reader's place; afterwards `at` is behind it, or {@link notJson}. */
function readCall(reader: Reader): Call | BadCall {
  const { bytes, text, depth } = reader;
  if (bytes[reader.at] !== 0x7b) {
    reader.at = skipValue(bytes, reader.at, depth);
    return { id: "null", error: rpcErrors.invalidRequest };
  }
  let version: string | undefined;
  let id: string | undefined;
  let method: string | undefined;
  let params: string | undefined;
  let at = skipSpace(bytes, reader.at + 1);
  let more = bytes[at] !== 0x7d;
  while (more) {
    const value = skipKey(bytes, at);
    const end = value === notJson ? notJson : skipValue(bytes, value, depth - 1);
    if (end === notJson) {
      reader.at = notJson;
      return { id: "null", error: rpcErrors.parse };
    }
    switch (memberAt(reader, at)) {
      case "jsonrpc":
        version = text.slice(value, end);
        break;
      case "id":
        id = text.slice(value, end);
        break;
      case "method":
        method = text.slice(value, end);
        break;
      case "params":
        params = text.slice(value, end);
        break;
      case undefined:
    }
    const next = skipSpace(bytes, end);
    more = bytes[next] === 0x2c;
    at = more ? skipSpace(bytes, next + 1) : next;
    if (!more && bytes[next] !== 0x7d) at = bytes.length;
  }
  reader.at = bytes[at] === 0x7d ? at + 1 : notJson;
  return makeCall(version, id, method, params);
}

function makeCall(
  version: string | undefined,
  id: string | undefined,
  method: string | undefined,
  params: string | undefined,
): Call | BadCall {
  const validId = id === undefined || (id.charCodeAt(0) !== 0x7b && id.charCodeAt(0) !== 0x5b);
  const name = method === undefined ? "" : stringValue(method);
  const isVersion2 = version === '"2.0"' || (version !== undefined && stringValue(version) === "2.0");
  if (!isVersion2 || !validId || name === "") {
    return { id: validId ? (id ?? "null") : "null", error: rpcErrors.invalidRequest };
  }
  return { id, method: name, params: params === "null" ? undefined : params };
}

const members = ["jsonrpc", "id", "method", "params"] as const;
type Member = (typeof members)[number];

/** Which member of an envelope the key at `at` names, of which the scanner has made sure that it is a string. */
function memberAt({ bytes, text }: Reader, at: number): Member | undefined {
  if (isAt(bytes, at, '"jsonrpc"')) return "jsonrpc";
  if (isAt(bytes, at, '"id"')) return "id";
  if (isAt(bytes, at, '"method"')) return "method";
  if (isAt(bytes, at, '"params"')) return "params";
  const key = stringValue(text.slice(at, skipString(bytes, at)));
  return members.find((name) => name === key);
}

/** The value of a JSON string as a binary string; empty when the text is another kind of value. */
function stringValue(json: string): string {
  if (json.charCodeAt(0) !== 0x22) return "";
  if (!json.includes("\\")) return json.slice(1, -1);
  return Buffer.from(JSON.parse(json) as string, "utf8").toString("latin1");
}
