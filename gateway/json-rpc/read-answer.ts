import { formatRpcError, type RpcError } from "../errors.ts";
import { readObject } from "./read-object.ts";

/** A response from the node, as a slice of JSON text. */
export type NodeResponse = Readonly<{ kind: "result" | "error"; json: string }>;

/**
 * Reads the result or error from the node's response to the call with this id. The layout that nodes usually send is recognized by its
 * first bytes; any other is scanned. Returns undefined if the text is not a response.
 */
export function readNodeResponse(text: string, id: string): NodeResponse | undefined {
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

/** Copies a binary string into its own memory: a slice would keep the whole longer string alive. */
export function copyText(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

const emptyResult = /^\s*(?:null|\[\s*\]|\{\s*\}|"(?:0x)?")\s*$/;

/** Whether a result is empty. An empty result must not be cached, because the data may exist a moment later. */
export function isEmptyResult(json: string): boolean {
  return emptyResult.test(json);
}

/** Formats a response with a result; `id` and `result` are JSON text and are inserted byte for byte. */
export function formatResultResponse(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** Formats a response with an error; `id` is JSON text and is inserted byte for byte. */
export function formatErrorResponse(id: string, error: RpcError): string {
  return formatErrorJsonResponse(id, formatRpcError(error));
}

/** Formats a response with an error that is already JSON text, such as an error from the node. */
export function formatErrorJsonResponse(id: string, error: string): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}

/** Formats the node's response under an id (JSON text) that may differ from the one in the node's response. */
export function formatNodeResponse(id: string, { kind, json }: NodeResponse): string {
  return kind === "result" ? formatResultResponse(id, json) : formatErrorJsonResponse(id, json);
}

/** Formats a call for the node. It is rebuilt from its parts, so that no duplicate or unexpected key in the client's envelope reaches the node. */
export function formatCall(id: string, method: string, params: string | undefined): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params ?? "[]"}}`;
}

/** Returns the UTF-8 bytes of a text as a binary string. */
export function asBinary(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
