import { errorJson, type RpcError } from "../errors.ts";

/** JSON text of an answer with a result; `id` and `result` are JSON text and go in byte for byte. */
export function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** JSON text of an answer with an error; `id` is JSON text and goes in byte for byte. */
export function errorText(id: string, error: RpcError): string {
  return errorJsonText(id, errorJson(error));
}

/** JSON text of an answer with an error that is JSON text already, such as the node's own. */
export function errorJsonText(id: string, error: string): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}

/** JSON text of a call as the node gets it: made anew, so that no duplicate or odd key of the client's envelope reaches it. */
export function callText(id: string, method: string, params: string | undefined): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params ?? "[]"}}`;
}

/** A text as a binary string of its UTF-8. */
export function asBinary(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
