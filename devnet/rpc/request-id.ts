import { parse } from "@humanwhocodes/momoa";
import { json5NodeAt } from "#daemon/files/json5-tree.ts";

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
  const { body } = parse(text, { mode: "json" });
  return plain.map((id, index) => {
    if (!hasRoundedId(requests[index])) return id;
    // Of several ids the last, as JSON.parse has it.
    const node = json5NodeAt(body, body.type === "Array" ? [`${index}`, "id"] : ["id"]);
    return node === undefined ? id : text.slice(node.loc.start.offset, node.loc.end.offset);
  });
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
