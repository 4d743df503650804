import { rpcErrors } from "../errors.ts";
import type { BadCall, Call } from "./call.ts";

/** Max length of an id or a method name, as JSON text. */
export const nameBytes = 1_024;

/** Builds a call from the JSON text of its members, or returns the error to respond with. */
export function buildCall(
  version: string | undefined,
  id: string | undefined,
  method: string | undefined,
  params: string | undefined,
): Call | BadCall {
  const validId = id === undefined || isId(id);
  const name = method === undefined || method.length > nameBytes ? "" : parseString(method);
  const isVersion2 = version === '"2.0"' || (version !== undefined && parseString(version) === "2.0");
  if (!isVersion2 || !validId || name === "") {
    return { id: validId ? (id ?? "null") : "null", error: rpcErrors.invalidRequest };
  }
  return { id, method: name, params: params === "null" ? undefined : params };
}

function isId(text: string): boolean {
  const code = text.charCodeAt(0);
  return code !== 0x7b && code !== 0x5b && text.length <= nameBytes;
}

/** Returns the value of a JSON string as a binary string; returns an empty one if the text is not a string. */
export function parseString(json: string): string {
  if (json.charCodeAt(0) !== 0x22) return "";
  if (!json.includes("\\")) return json.slice(1, -1);
  const text = Buffer.from(json, "latin1").toString("utf8");
  return Buffer.from(JSON.parse(text) as string, "utf8").toString("latin1");
}
