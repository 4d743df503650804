import { getNodeValue, parseTree, type Node } from "jsonc-parser";

/** A request's id as JSON text, which goes into the response as it came. */
export type RequestId = string;

/** The id of an answer to something whose id can't be told (JSON-RPC 2.0, section 5). */
export const noId: RequestId = "null";

/**
 * Reads the ids of a message: for each request, in order, its id as JSON text; undefined where there is none or it is not a
 * string, number or null (JSON-RPC 2.0, section 4). Numbers beyond what JavaScript holds come back digit for digit.
 *
 * @param text the whole message.
 * @param requests the request objects that `JSON.parse` made of it.
 */
export function readIds(text: string, requests: readonly unknown[]): readonly (RequestId | undefined)[] {
  const plain = requests.map(plainId);
  if (!requests.some(hasRoundedId)) return plain;
  const root = parseTree(text);
  const nodes = root?.type === "array" ? (root.children ?? []) : [root];
  return plain.map((id, index) => (hasRoundedId(requests[index]) ? (sourceOf(text, nodes[index]) ?? id) : id));
}

function plainId(request: unknown): RequestId | undefined {
  const id = idOf(request);
  return typeof id === "string" || typeof id === "number" || id === null ? JSON.stringify(id) : undefined;
}

function hasRoundedId(request: unknown): boolean {
  const id = idOf(request);
  return typeof id === "number" && !Number.isSafeInteger(id);
}

function idOf(request: unknown): unknown {
  return typeof request === "object" && request !== null ? (request as { id?: unknown }).id : undefined;
}

/** The text of a request's `id`; of several, the last, as `JSON.parse` has it. */
function sourceOf(text: string, request: Node | undefined): string | undefined {
  const ids = (request?.children ?? []).filter(({ children }) => isIdKey(children?.[0]));
  const value = ids.at(-1)?.children?.[1];
  return value === undefined ? undefined : text.slice(value.offset, value.offset + value.length);
}

function isIdKey(key: Node | undefined): boolean {
  return key !== undefined && getNodeValue(key) === "id";
}
