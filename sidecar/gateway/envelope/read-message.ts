import { isUtf8 } from "node:buffer";
import type { BadCall, Call, Message } from "./call.ts";
import { notJson, skipKey, skipSpace, skipString, skipValue } from "./json-scanner.ts";
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
  const text = body.toString("latin1");
  const start = skipSpace(text, 0);
  if (text.charCodeAt(start) === 0x5b) return readBatch(text, start, limits);
  const reader: Reader = { text, at: start, depth: limits.depth };
  const call = readCall(reader);
  if (reader.at === notJson || skipSpace(text, reader.at) !== text.length) return parseFailure;
  return { kind: "single", call };
}

type Reader = { readonly text: string; readonly depth: number; at: number };

function readBatch(text: string, start: number, limits: MessageLimits): Message {
  const reader: Reader = { text, at: skipSpace(text, start + 1), depth: limits.depth - 1 };
  const calls: (Call | BadCall)[] = [];
  if (text.charCodeAt(reader.at) === 0x5d) {
    if (skipSpace(text, reader.at + 1) !== text.length) return parseFailure;
    return { kind: "single", call: { id: "null", error: rpcErrors.emptyBatch } };
  }
  for (;;) {
    if (calls.length === limits.batchItems) {
      return { kind: "single", call: { id: "null", error: rpcErrors.batchTooLarge } };
    }
    calls.push(readCall(reader));
    if (reader.at === notJson) return parseFailure;
    const end = skipSpace(text, reader.at);
    const code = text.charCodeAt(end);
    if (code === 0x5d) return skipSpace(text, end + 1) === text.length ? { kind: "batch", calls } : parseFailure;
    if (code !== 0x2c) return parseFailure;
    reader.at = skipSpace(text, end + 1);
  }
}

/** Reads the value at the reader's place; afterwards `at` is behind it, or {@link notJson}. */
function readCall(reader: Reader): Call | BadCall {
  const { text, depth } = reader;
  if (text.charCodeAt(reader.at) !== 0x7b) {
    reader.at = skipValue(text, reader.at, depth);
    return { id: "null", error: rpcErrors.invalidRequest };
  }
  let version: string | undefined;
  let id: string | undefined;
  let method: string | undefined;
  let params: string | undefined;
  let at = skipSpace(text, reader.at + 1);
  let more = text.charCodeAt(at) !== 0x7d;
  while (more) {
    const value = skipKey(text, at);
    const end = value === notJson ? notJson : skipValue(text, value, depth - 1);
    if (end === notJson) {
      reader.at = notJson;
      return { id: "null", error: rpcErrors.parse };
    }
    switch (keyAt(text, at)) {
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
      default:
    }
    const next = skipSpace(text, end);
    const code = text.charCodeAt(next);
    more = code === 0x2c;
    at = more ? skipSpace(text, next + 1) : next;
    if (!more && code !== 0x7d) at = text.length;
  }
  reader.at = text.charCodeAt(at) === 0x7d ? at + 1 : notJson;
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
  if (version === undefined || stringValue(version) !== "2.0" || !validId || name === "") {
    return { id: validId ? (id ?? "null") : "null", error: rpcErrors.invalidRequest };
  }
  return { id, method: name, params: params === "null" ? undefined : params };
}

/** The key that starts at `at`, of which the scanner has made sure that it is a string. */
function keyAt(text: string, at: number): string {
  return stringValue(text.slice(at, skipString(text, at)));
}

/** The value of a JSON string as a binary string; empty when the text is another kind of value. */
function stringValue(json: string): string {
  if (json.charCodeAt(0) !== 0x22) return "";
  if (!json.includes("\\")) return json.slice(1, -1);
  return Buffer.from(JSON.parse(json) as string, "utf8").toString("latin1");
}
