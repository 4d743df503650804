import { formatRpcError, type RpcError } from "../errors.ts";
import { readObject } from "./read-object.ts";

/** Answer of the node, as a slice of JSON text. */
export type NodeAnswer = Readonly<{ kind: "result" | "error"; json: string }>;

/**
 * Reads the result or the error from the node's answer to a call with this id. The layout that nodes write is recognised by
 * its first bytes; another one is scanned. Undefined if it is no answer.
 */
export function readAnswer(text: string, id: string): NodeAnswer | undefined {
  const start = `{"jsonrpc":"2.0","id":${id},"result":`;
  if (text.startsWith(start)) {
    const end = text.endsWith("}") ? text.length : text.trimEnd().length;
    if (text.charCodeAt(end - 1) === 0x7d) return { kind: "result", json: text.slice(start.length, end - 1) };
  }
  const members = readObject(text);
  const error = members?.get("error");
  if (error !== undefined && error !== "null") return { kind: "error", json: error };
  const result = members?.get("result");
  return result === undefined ? undefined : { kind: "result", json: result };
}

/** Copies a binary string to its own memory: a part of a longer one would keep all of that alive. */
export function copyText(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

const nothing = /^\s*(?:null|\[\s*\]|\{\s*\}|"(?:0x)?")\s*$/;

/** Whether a result is empty: what may be there a moment later must not be remembered. */
export function isEmptyResult(json: string): boolean {
  return nothing.test(json);
}

/** Formats an answer with a result; `id` and `result` are JSON text and go in byte for byte. */
export function formatResultAnswer(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** Formats an answer with an error; `id` is JSON text and goes in byte for byte. */
export function formatErrorAnswer(id: string, error: RpcError): string {
  return formatErrorJsonAnswer(id, formatRpcError(error));
}

/** Formats an answer with an error that is JSON text already, such as the node's own. */
export function formatErrorJsonAnswer(id: string, error: string): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}

/** Formats a call as the node gets it, built here so that no duplicate or odd key of the client's envelope reaches it. */
export function formatCall(id: string, method: string, params: string | undefined): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params ?? "[]"}}`;
}

/** Returns a text as a binary string of its UTF-8. */
export function asBinary(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
