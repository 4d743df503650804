import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import type { Logger } from "#daemon/log/log.ts";
import { createProgress } from "./progress.ts";
import { countDownloadedBytes, RestoreError, readJson, type RestoreLocation } from "./restore-location.ts";
import type { RestoreSettings } from "./settings.ts";

export type DownloadDependencies = Readonly<{ log: Logger; fetch: typeof fetch; signal: AbortSignal }>;

const originSchema = z.object({ url: z.string(), etag: z.string().optional() });

/**
 * Makes one attempt to download the rest of the archive, with a Range request (RFC 9110, section 14) that the server honors only if the
 * archive is unchanged (`If-Range`). Hashes bytes as they arrive and rehashes the part on disk. Returns the SHA-256 of the whole archive.
 *
 * @throws {RestoreError} marked retryable when the connection broke or stalled, or the server failed.
 */
export async function downloadArchive(
  settings: RestoreSettings,
  paths: RestoreLocation,
  dependencies: DownloadDependencies,
): Promise<string> {
  const { url } = settings.archive;
  await mkdir(dirname(paths.archive), { recursive: true });
  const part = await findPart(url, paths);
  const stallController = new AbortController();
  const timer = setTimeout(
    () => stallController.abort(new Error(`no data for ${settings.stallMs} ms`)),
    settings.stallMs,
  );
  try {
    const signal = AbortSignal.any([dependencies.signal, stallController.signal]);
    const endpoint = parseHttpEndpoint(url);
    const headers = { ...endpoint.headers, ...part.headers };
    const response = await dependencies.fetch(endpoint.url, { headers, signal });
    const hash = createHash("sha256");
    if (response.status === 416 && part.sizeBytes > 0) {
      await hashFile(hash, paths.archive, part.sizeBytes);
      return hash.digest("hex");
    }
    const fromBytes = readRangeStart(response, part.sizeBytes, url);
    const totalBytes = readTotal(response, fromBytes);
    if (totalBytes !== undefined && totalBytes > settings.archive.limitBytes)
      throw createSizeError(url, totalBytes, settings);
    await rememberOrigin(paths, url, response);
    if (fromBytes > 0) await hashFile(hash, paths.archive, fromBytes);
    const progress = createProgress(
      "download",
      { everyMs: settings.progressMs, fromBytes, totalBytes },
      dependencies.log,
    );
    await using file = await open(paths.archive, fromBytes > 0 ? "r+" : "w");
    await file.truncate(fromBytes);
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      hash.update(chunk);
      await file.write(chunk, 0, chunk.length, progress.doneBytes());
      progress.add(chunk.length);
      if (progress.doneBytes() > settings.archive.limitBytes)
        throw createSizeError(url, progress.doneBytes(), settings);
    }
    if (totalBytes !== undefined && progress.doneBytes() < totalBytes) throw new Error("the connection closed early");
    await file.sync();
    return hash.digest("hex");
  } catch (cause) {
    if (cause instanceof RestoreError || dependencies.signal.aborted) throw cause;
    throw new RestoreError(`${stripQuery(url)} can't be downloaded completely (${explainCause(cause)})`, {
      retryable: true,
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}

async function findPart(url: string, paths: RestoreLocation) {
  const { data: origin } = originSchema.safeParse(await readJson(paths.origin));
  if (origin?.url !== url) return { sizeBytes: 0, headers: {} };
  const sizeBytes = await countDownloadedBytes(paths);
  const rangeCondition = origin.etag === undefined ? {} : { "if-range": origin.etag };
  return { sizeBytes, headers: sizeBytes === 0 ? {} : { range: `bytes=${sizeBytes}-`, ...rangeCondition } };
}

async function rememberOrigin(paths: RestoreLocation, url: string, response: Response): Promise<void> {
  const etag = response.headers.get("etag") ?? undefined;
  // A weak validator does not guarantee identical bytes (RFC 9110, section 8.8.1).
  const strong = etag?.startsWith("W/") === true ? undefined : etag;
  await replaceFile(paths.origin, JSON.stringify({ url, etag: strong }), { mode: 0o600 });
}

/** Reads the byte offset at which the response starts: the requested offset, or 0 if the server sends the whole archive. */
function readRangeStart(response: Response, expectedBytes: number, url: string): number {
  if (response.status === 200) return 0;
  const begin = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1];
  if (response.status === 206 && Number(begin) === expectedBytes) return expectedBytes;
  const retryable = response.status === 429 || response.status >= 500 || response.status === 206;
  const advice = retryable ? "" : "; correct the URL";
  throw new RestoreError(`${stripQuery(url)} returned HTTP ${response.status}${advice}`, { retryable });
}

function readTotal({ headers }: Response, fromBytes: number): number | undefined {
  const length = headers.get("content-length");
  return length === null || headers.get("content-encoding") !== null ? undefined : fromBytes + Number(length);
}

async function hashFile(hash: Hash, path: string, sizeBytes: number): Promise<void> {
  for await (const chunk of createReadStream(path, { end: sizeBytes - 1 })) hash.update(chunk as Uint8Array);
}

function createSizeError(url: string, foundBytes: number, { archive }: RestoreSettings): RestoreError {
  return new RestoreError(`${stripQuery(url)} has ${foundBytes} bytes; the limit is ${archive.limitBytes}`);
}

/** Strips a URL's query, which may contain a signature. */
export function stripQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function explainCause(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
