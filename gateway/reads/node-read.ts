import type { ResponseFlow, ResponseSink } from "../responses/response-sink.ts";
import type { Method } from "../catalogue/method.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import { findElement, readObject } from "../json-rpc/read-object.ts";
import type { ChainHead } from "../chain/head.ts";

/** A call to the node that has passed every check, and the sink for its response. */
export type NodeRead = ResponseSink &
  Readonly<{
    id: string;
    method: Method;
    caller: string;
    memory: HeldBytes;
    /** JSON text of an array. */
    params: string;
    /** The result of `formatCall` for the id, method and params, if the client sent the call in that form. */
    wire?: string | undefined;
    /** The `buildCallKey` of method and params, and its `hashKey`. */
    key: string;
    hash: number;
    traceContext: TraceContext | undefined;
    /** Sends the call to the node in a batch; if absent, the call is sent alone. */
    sender?: NodeSender | undefined;
    /** Called when the reader has cancelled the read and receives nothing more. */
    cancelled: () => void;
  }>;

/** An in-flight read that identical reads may join. */
export type ReadInFlight = Readonly<{
  /** The `buildCallKey` of method and parameters, and its `hashKey`. */
  key: string;
  hash: number;
  generation: number;
  /** Adds another caller's identical read: from now on, the call to the node also uses that caller's scheduling rounds. */
  join: (read: NodeRead) => ResponseFlow;
}>;

/** How long a read's response may be reused, and the state when it was requested. */
export type ReadContext = Readonly<{ lifetime: CacheLifetime; generation: number; epoch: number; isKept: boolean }>;

/** How long a response may be reused. `head`: while the chain's head stays the same; `ever`: until memory is needed, or the node is replaced. */
export type CacheLifetime = "none" | "head" | "ever";

/** Max parameter length of a call whose response is reused: for longer parameters, the lookup costs more than it saves. */
export const knownParamsBytes = 65_536;

/** Derives how long a call's response may be cached; `params` is the JSON text of an array. */
export function deriveCacheLifetime(method: Method, params: string, head: ChainHead | undefined): CacheLifetime {
  if (params.length > knownParamsBytes) return "none";
  const { cache } = method;
  switch (cache.kind) {
    case "none":
      return "none";
    case "constant":
      return "ever";
    case "hash":
      return /^\[\s*"0x[0-9a-fA-F]{64}"/.test(params) ? "ever" : deriveHeadLifetime(head);
    case "head":
      return deriveHeadLifetime(head);
    case "block":
      return deriveBlockLifetime(findElement(params, cache.at), head);
    case "logs":
      return deriveFilterLifetime(params, head);
  }
}

/** Derives the lifetime of a response that is valid for one head. */
export function deriveHeadLifetime(head: ChainHead | undefined): CacheLifetime {
  return head === undefined ? "none" : "head";
}

/** A block hash. A hash that starts with this many zeros may be a zero-padded number; reth and anvil read it as a number. */
const hashText = /^"0x(?!0{48})[0-9a-fA-F]{64}"$/;
const numberText = /^"0x0*[0-9a-fA-F]{1,16}"$/;

/** Derives the lifetime from the block that a parameter selects, given as JSON text. A pending block may change at any time. */
function deriveBlockLifetime(block: string | undefined, head: ChainHead | undefined): CacheLifetime {
  if (block === '"latest"') return deriveHeadLifetime(head);
  if (block === '"pending"') return "none";
  if (block !== undefined && hashText.test(block)) return "ever";
  if (block === undefined || !numberText.test(block)) {
    // A tag, a missing block or an object; an unusual spelling of "pending" must not match.
    return block === undefined || /^("(latest|earliest|safe|finalized)"|null|\{[^p\\]*\})$/.test(block)
      ? deriveHeadLifetime(head)
      : "none";
  }
  if (head?.finalized !== undefined && BigInt(block.slice(1, -1)) <= head.finalized) return "ever";
  return deriveHeadLifetime(head);
}

/** Derives the lifetime for a block range, which is that of its upper bound, unless the range specifies a block by hash. */
function deriveFilterLifetime(params: string, head: ChainHead | undefined): CacheLifetime {
  const filter = readObject(findElement(params, 0) ?? "");
  if (filter === undefined) return "none";
  if (filter.has("blockHash")) return "ever";
  const from = deriveBlockLifetime(filter.get("fromBlock"), head);
  const to = deriveBlockLifetime(filter.get("toBlock"), head);
  if (from === "none" || to === "none") return "none";
  return from === "ever" && to === "ever" ? "ever" : "head";
}
