import { pipeline } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { Dispatcher } from "undici";
import { lookupName } from "#daemon/http/name-lookup.ts";
import { ReceivedBody } from "./received-body.ts";

/** The part of `fetch` that this service uses. Rejects with the system's error. */
export type Fetch = (
  url: string,
  request: Readonly<{
    method: string;
    headers: Readonly<Record<string, string>>;
    body?: string | Uint8Array<ArrayBuffer>;
    redirect: "manual";
    signal: AbortSignal;
  }>,
) => Promise<FetchResponse>;

export type FetchResponse = Readonly<{
  status: number;
  headers: Readonly<{ get: (name: string) => string | null }>;
  body: (AsyncIterable<Uint8Array> & Readonly<{ cancel: () => Promise<void> }>) | null;
}>;

/**
 * Creates a client over kept-alive connections, at a third of the cost of a `fetch`, whose standard has streams and signals that nobody
 * needs here. Loaded on first use; an unresolvable name blocks no other destination ({@link lookupName}).
 */
export function createHttpClient(): Fetch {
  let loading: Promise<Dispatcher> | undefined;
  return async (url, request) => {
    loading ??= import("undici").then(({ Agent }) => new Agent({ connect: { lookup: lookupName } }));
    return send(await loading, url, request);
  };
}

function send(dispatcher: Dispatcher, url: string, request: Parameters<Fetch>[1]): Promise<FetchResponse> {
  const { method, headers, body = null, signal } = request;
  const { origin, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    let running: Dispatcher.DispatchController | undefined;
    let received: ReceivedBody | undefined;
    const fail = (error: Error): void => {
      signal.removeEventListener("abort", abort);
      reject(error);
      received?.fail(error);
    };
    const abort = (): void => {
      const reason = signal.reason as Error;
      fail(reason);
      running?.abort(reason);
    };
    signal.addEventListener("abort", abort);
    const options = { origin, path: `${pathname}${search}`, method: method as Dispatcher.HttpMethod, headers, body };
    dispatcher.dispatch(options, {
      onRequestStart(controller) {
        running = controller;
        if (signal.aborted) controller.abort(signal.reason as Error);
      },
      onResponseStart(controller, status, fields) {
        // 100 to 199 precede the response (RFC 9110, section 15.2).
        if (status < 200) return;
        received = new ReceivedBody(controller);
        const get = (name: string) => joinField(fields[name.toLowerCase()]);
        resolve({ status, headers: { get }, body: decode(received, get("content-encoding")) });
      },
      onResponseData: (_controller, chunk) => received?.add(chunk),
      onResponseEnd() {
        signal.removeEventListener("abort", abort);
        received?.end();
      },
      onResponseError: (_controller, error) => fail(error),
    });
  });
}

function joinField(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? value : value.join(", ");
}

const decoders = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const;

/** Decodes the body of a server that encodes it although only `identity` is accepted. */
function decode(body: ReceivedBody, encoding: string | null): FetchResponse["body"] {
  const known = Object.keys(decoders).find((name): name is keyof typeof decoders => name === encoding?.toLowerCase());
  if (known === undefined) return body;
  // The reader of the decoder gets the error.
  const decoded = pipeline(body, decoders[known](), () => undefined);
  return Object.assign(decoded, { cancel: async () => void decoded.destroy() });
}

/** Runs `work` with a signal that aborts with `signal`, or with a `TimeoutError` after `timeoutMs`; cheaper than `AbortSignal.any`. */
export async function runWithin<T>(
  { signal, timeoutMs }: Readonly<{ signal: AbortSignal; timeoutMs: number }>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const stop = () => ended.abort(signal.reason);
  const late = () => ended.abort(new DOMException(`no response within ${timeoutMs} ms`, "TimeoutError"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  const timer = setTimeout(late, timeoutMs);
  try {
    return await work(ended.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
