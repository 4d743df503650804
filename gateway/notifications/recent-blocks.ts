import { readObject } from "../json-rpc/read-object.ts";
import type { NodeRequest } from "../upstream/request-node.ts";

/** A remembered block: its hash as JSON text, and its own timestamp in milliseconds since 1970. */
export type RememberedBlock = Readonly<{
  number: bigint;
  hash: string;
  parentHash: string | undefined;
  madeAtMs: number | undefined;
}>;

/** The newest blocks sent to subscribers, in ascending order, excluding those replaced by a reorganization. */
export class RecentBlocks {
  readonly #limit: number;
  #blocks: readonly RememberedBlock[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get blocks(): readonly RememberedBlock[] {
    return this.#blocks;
  }

  note(block: RememberedBlock): void {
    this.#blocks = [...this.#blocks.filter(({ number }) => number < block.number).slice(1 - this.#limit), block];
  }

  has(hash: string): boolean {
    return this.#blocks.some((block) => block.hash === hash);
  }

  clear(): void {
    this.#blocks = [];
  }
}

/** Requests a block by its number or tag; returns undefined if the node doesn't return one. */
export async function requestBlock(block: string, requestNode: NodeRequest): Promise<RememberedBlock | undefined> {
  return readBlock((await requestNode("eth_getBlockByNumber", `["${block}",false]`)) ?? "");
}

/** Reads a block or a header from JSON text; returns undefined if the text is neither. */
export function readBlock(json: string): RememberedBlock | undefined {
  const members = readObject(json);
  const number = readQuantity(members?.get("number"));
  const hash = members?.get("hash");
  if (number === undefined || hash === undefined) return undefined;
  const timestamp = readQuantity(members?.get("timestamp"));
  const madeAtMs = timestamp === undefined ? undefined : Number(timestamp) * 1_000;
  return { number, hash, parentHash: members?.get("parentHash"), madeAtMs };
}

export function readQuantity(json: string | undefined): bigint | undefined {
  return json !== undefined && /^"0x[0-9a-fA-F]{1,16}"$/.test(json) ? BigInt(json.slice(1, -1)) : undefined;
}
