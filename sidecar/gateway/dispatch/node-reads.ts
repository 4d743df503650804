import type { AnswerCache } from "../cache/answer-cache.ts";
import { cacheScope, type CacheScope } from "../cache/cache-scope.ts";
import type { Head } from "../cache/head.ts";
import { startSharedRead, type Reader, type SharedRead } from "../cache/shared-read.ts";
import type { Method } from "../catalogue/method.ts";
import { callText, errorText, resultText } from "../envelope/answer-text.ts";
import { isEmptyResult, readAnswer } from "../envelope/read-answer.ts";
import { failureError } from "../upstream/failure-error.ts";
import type { NodePool } from "../upstream/node-pool.ts";
import type { AnswerFlow } from "./answer-sink.ts";
import { collectAnswer } from "./collected-answer.ts";
import { passThrough } from "./pass-through.ts";
import type { TraceContext } from "../observe/trace-context.ts";

/** A call that the node has to answer, after every check. */
export type NodeRead = Readonly<{
  method: Method;
  /** JSON text of an array. */
  params: string;
  traceContext: TraceContext | undefined;
}>;

/** How reads may be saved. */
export type NodeReadsOptions = Readonly<{
  cache: boolean;
  coalesce: boolean;
  /** Largest answer that is cached or shared. */
  entryBytes: number;
  responseBytes: () => number;
}>;

/** Answers calls from the cache, from an equal call under way, or from the node. */
export type NodeReads = Readonly<{
  /** The cached result of a call, as JSON text; none of a method whose cache is off, whatever it has from before. */
  cached: (method: Method, params: string) => string | undefined;
  /** The same, of what can't change with the head. */
  lasting: (method: Method, params: string) => string | undefined;
  read: (read: NodeRead, reader: Reader) => AnswerFlow;
}>;

/** When a read began: what was known of the head and of the node then. */
type Moment = Readonly<{ generation: number; epoch: number }>;

/**
 * Ids that every node gives back byte for byte: plain integers, and strings without anything that some encoder of JSON writes
 * another way (Go's escapes `<`, `>` and `&`, others `/` and `'`). Others travel under another id.
 */
const plainId = /^(?:0|[1-9]\d{0,14}|"[\w .,:;!?*+=@#$%^~|(){}[\]-]{0,128}")$/;

const carriedId = "1";

/** Makes the reads of one node. */
export function makeNodeReads(
  options: NodeReadsOptions,
  { pool, cache, head }: Readonly<{ pool: NodePool; cache: AnswerCache; head: Head }>,
): NodeReads {
  const underWay = new Map<string, Readonly<{ shared: SharedRead; generation: number }>>();

  const isCached = (method: Method) => options.cache && method.cache.kind !== "none";
  const alone = ({ method, params, traceContext }: NodeRead, reader: Reader): AnswerFlow => {
    const plain = plainId.test(reader.id);
    const flow = pool.send({
      body: callText(plain ? reader.id : carriedId, method.name, params),
      timeoutMs: method.timeoutMs,
      repeatable: method.repeatable,
      traceContext,
      sink: plain
        ? passThrough(reader.id, reader.sink, reader.done)
        : collectAnswer(options.responseBytes(), renamed(reader)),
    });
    return {
      resume: flow.resume,
      cancel: () => {
        flow.cancel();
        reader.done("cancelled");
      },
    };
  };
  const keep = (key: string, json: string, scope: CacheScope, { generation, epoch }: Moment) => {
    if (!options.cache || isEmptyResult(json)) return;
    if (scope === "ever") cache.putForEver(key, json, epoch);
    // A head that changed meanwhile leaves open which of the two the answer belongs to.
    else if (scope === "head" && head.generation() === generation) cache.putForHead(key, json, generation);
  };
  const share = (read: NodeRead, key: string, scope: CacheScope, reader: Reader): AnswerFlow => {
    const moment = { generation: head.generation(), epoch: cache.epoch() };
    const { generation } = moment;
    const running = underWay.get(key);
    if (running !== undefined && running.generation === generation) return running.shared.join(reader);
    const { method, params, traceContext } = read;
    let shared: SharedRead | undefined;
    let isOver = false;
    const started = startSharedRead(
      { method: method.name, params, timeoutMs: method.timeoutMs, limitBytes: options.entryBytes, traceContext },
      reader,
      {
        pool,
        events: {
          closed: () => {
            isOver = true;
            if (shared !== undefined && underWay.get(key)?.shared === shared) underWay.delete(key);
          },
          result: (json) => keep(key, json, scope, moment),
          alone: (left) => alone(read, left),
        },
      },
    );
    shared = started;
    if (!isOver && options.coalesce) underWay.set(key, { shared, generation });
    return started.flow;
  };
  return {
    cached: (method, params) =>
      isCached(method) ? cache.get(`${method.name} ${params}`, head.generation()) : undefined,
    lasting: (method, params) => (isCached(method) ? cache.getLasting(`${method.name} ${params}`) : undefined),
    read: (read, reader) => {
      const scope = cacheScope(read.method, read.params, head.known());
      if (scope === "none" || !plainId.test(reader.id) || !(options.cache || options.coalesce)) {
        return alone(read, reader);
      }
      return share(read, `${read.method.name} ${read.params}`, scope, reader);
    },
  };
}

/** Gives the answer back under the reader's own id. */
function renamed(reader: Reader) {
  return {
    whole: (text: string) => {
      const answer = readAnswer(text, carriedId);
      reader.done(answer === undefined ? "badAnswer" : "answered");
      if (answer === undefined) reader.sink.text(errorText(reader.id, failureError("badAnswer")), "gateway");
      else if (answer.kind === "result") reader.sink.text(resultText(reader.id, answer.json), "node");
      else reader.sink.text(`{"jsonrpc":"2.0","id":${reader.id},"error":${answer.json}}`, "node");
    },
    fail: (failure: Parameters<typeof failureError>[0]) => {
      reader.done(failure);
      reader.sink.text(errorText(reader.id, failureError(failure)), "gateway");
    },
    tooLong: () => {
      reader.done("tooLarge");
      reader.sink.text(errorText(reader.id, failureError("tooLarge")), "gateway");
      return undefined;
    },
  };
}
