import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { Dispatcher } from "undici";
import { lookupName } from "#daemon/http/name-lookup.ts";

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
 * Creates a client over kept-alive connections that costs less than a `fetch`, whose standard has streams and signals that nobody needs
 * here. Loaded on first use; an unresolvable name blocks no other destination ({@link lookupName}).
 */
export function createHttpClient(): Fetch {
  let loading: ReturnType<typeof load> | undefined;
  return async (url, { method, headers, body = null, signal }) => {
    loading ??= load();
    const { request, dispatcher } = await loading;
    const options = { dispatcher, method: method as Dispatcher.HttpMethod, headers, body, signal };
    const response = await request(url, options);
    const get = (name: string) => joinField(response.headers[name.toLowerCase()]);
    return { status: response.statusCode, headers: { get }, body: decode(response.body, get("content-encoding")) };
  };
}

async function load() {
  const { Agent, request } = await import("undici");
  return { request, dispatcher: new Agent({ connect: { lookup: lookupName } }) };
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
function decode(body: Readable, encoding: string | null): FetchResponse["body"] {
  const known = Object.keys(decoders).find((name): name is keyof typeof decoders => name === encoding?.toLowerCase());
  // The reader of the decoder gets the error.
  const decoded = known === undefined ? body : pipeline(body, decoders[known](), () => undefined);
  return Object.assign(decoded, { cancel: async () => void decoded.on("error", () => undefined).destroy() });
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
