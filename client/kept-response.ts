/** Largest body that {@link keptResponse} reads before it hands the response on. */
const keptBytesMax = 67_108_864;

/**
 * Reads a response's whole body, so that a connection which breaks off shows here and not at the caller, and gives an equal response
 * with it. A body over 64 MiB is handed on while it comes: to refuse what was paid for would be worse.
 *
 * @throws what reading the body throws.
 */
export async function keptResponse(response: Response): Promise<Response> {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of body.values({ preventCancel: true })) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > keptBytesMax) break;
  }
  const kept = bytes > keptBytesMax ? ReadableStream.from(joined(chunks, body)) : new Blob(chunks);
  const copy = new Response(kept, { status, statusText, headers });
  return Object.defineProperties(copy, {
    url: { value: response.url },
    redirected: { value: response.redirected },
  });
}

async function* joined(chunks: readonly Uint8Array[], rest: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
  yield* rest;
}
