import {
  formatErrorJsonResponse,
  formatErrorResponse,
  formatResultResponse,
  readNodeResponse,
} from "../json-rpc/read-answer.ts";
import { buildCallKey, hashParts } from "../json-rpc/call.ts";
import { responseErrors, rpcErrors, type ResponseFailure } from "../errors.ts";
import type { ResponseFlow, ResponseSink, ResponseSource } from "../responses/response-sink.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { Method } from "../catalogue/method.ts";
import type { NodeRead } from "./node-read.ts";
import type { NodeReads } from "./node-reads.ts";
import { OrderedWriter, type OrderedWriterDependencies } from "../responses/ordered-writer.ts";
import { TextSink, type TextReceiver, type TextResponse } from "../responses/text-sink.ts";

export type SplitOptions = Readonly<{ pieces: readonly string[]; parallel: number; limitBytes: number }>;

/** The call for the whole range; its owner releases its memory when it ends. */
type WholeRead = ResponseSink & Pick<NodeRead, "id" | "method" | "caller" | "memory" | "traceContext">;

const pieceId = "1";

/**
 * Reads the pieces of a range and returns their results (arrays) as one array in range order: short results whole, long ones streamed.
 * Requests at most `parallel` pieces ahead. If a piece fails, the whole read fails: with that piece's error or, if the response has already
 * started, by aborting the response. `done` is called once.
 */
export function parseSplit(
  { pieces, parallel, limitBytes }: SplitOptions,
  { read, reads }: Readonly<{ read: WholeRead; reads: Pick<NodeReads, "cached" | "read"> }>,
  done: (outcome: "node" | "failed" | "cancelled") => void,
): ResponseFlow {
  const { id, memory } = read;
  const writer = createArrayWriter(pieces.length, id, { sink: read, memory, ending: () => finish("node") });
  const flows = new Map<number, ResponseFlow>();
  const settledPieces = new Set<number>();
  const state = { next: 0, isFinished: false, isRunning: false };

  const finish = (outcome: "node" | "failed" | "cancelled") => {
    if (state.isFinished) return;
    state.isFinished = true;
    for (const flow of flows.values()) flow.cancel();
    flows.clear();
    done(outcome);
  };
  const fail = (failure: ResponseFailure, text = formatErrorResponse(id, responseErrors[failure])) => {
    if (state.isFinished) return;
    finish("failed");
    if (writer.hasBegun) read.fail(failure);
    else read.text(text, "gateway");
  };
  const settle = (position: number, response: TextResponse | ResponseFailure) => {
    const piece = readPiece(response, id);
    if (piece.kind === "error") return fail(typeof response === "string" ? response : "unavailable", piece.text);
    const { elements } = piece;
    if (writer.bytes + elements.length > limitBytes) return fail("tooLarge");
    writer.put(position, elements, piece.source);
    return run();
  };
  const receive = (response: TextResponse | ResponseFailure, position: number) => {
    flows.delete(position);
    settledPieces.add(position);
    if (!state.isFinished) settle(position, response);
  };
  const requestPiece = (position: number) => {
    const piece = new PieceRead(read, pieces[position] ?? "[]", { limitBytes, memory, receive }, position);
    const cached = reads.cached(piece.method, piece.key, piece.hash);
    if (cached !== undefined) {
      settle(position, { text: formatResultResponse(pieceId, cached), source: "cache", retryAfterSeconds: undefined });
      return;
    }
    const flow = reads.read(piece);
    if (state.isFinished) flow.cancel();
    else if (!settledPieces.has(position)) flows.set(position, flow);
  };
  const run = () => {
    // A piece that is answered immediately re-enters this function; the loop then sees its changes.
    if (state.isRunning || state.isFinished) return;
    state.isRunning = true;
    let sent = -1;
    while (!state.isFinished && sent < writer.turn) {
      sent = writer.turn;
      writer.flush();
      while (!state.isFinished && !writer.isHeld && state.next < Math.min(pieces.length, sent + parallel)) {
        state.next += 1;
        requestPiece(state.next - 1);
      }
    }
    state.isRunning = false;
  };
  run();
  return {
    resume: () => {
      writer.resume();
      run();
    },
    cancel: () => finish("cancelled"),
  };
}

/** The read of one piece; collects its response. */
class PieceRead extends TextSink<number> implements NodeRead {
  readonly id = pieceId;
  readonly method: Method;
  readonly caller: string;
  readonly memory: HeldBytes;
  readonly params: string;
  readonly key: string;
  readonly hash: number;
  readonly traceContext: TraceContext | undefined;

  constructor(
    { method, caller, memory, traceContext }: WholeRead,
    params: string,
    receiver: TextReceiver<number>,
    position: number,
  ) {
    super(receiver, position);
    this.method = method;
    this.caller = caller;
    this.memory = memory;
    this.params = params;
    this.key = buildCallKey(method.name, params);
    this.hash = hashParts(method.name, params);
    this.traceContext = traceContext;
  }

  cancelled(): void {
    // The whole read was cancelled or has failed; single pieces are not counted.
  }
}

/** Creates the writer that joins the elements of that many arrays into the result of the call with this id. */
function createArrayWriter(slots: number, id: string, dependencies: OrderedWriterDependencies): OrderedWriter {
  const [head, tail] = [`{"jsonrpc":"2.0","id":${id},"result":[`, "]}"];
  return new OrderedWriter({ slots, head, tail, empty: head + tail }, dependencies);
}

type Piece = Readonly<{ kind: "elements"; elements: string; source: ResponseSource } | { kind: "error"; text: string }>;

/** Returns the elements in a piece's response, or the response that replaces the whole result. */
function readPiece(given: TextResponse | ResponseFailure, id: string): Piece {
  if (typeof given === "string") {
    return { kind: "error", text: formatErrorResponse(id, responseErrors[given]) };
  }
  const response = readNodeResponse(given.text, pieceId);
  if (response?.kind === "error") return { kind: "error", text: formatErrorJsonResponse(id, response.json) };
  const elements = /^\s*\[([^]*)\]\s*$/.exec(response?.json ?? "")?.[1]?.trim();
  if (elements === undefined) return { kind: "error", text: formatErrorResponse(id, rpcErrors.badAnswer) };
  return { kind: "elements", elements, source: given.source };
}
