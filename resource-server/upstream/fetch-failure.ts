const beforeTheRequest = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether a `fetch` failed before anything of the request went out, so that nobody can have acted on it. */
export function neverConnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(neverConnected);
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined && beforeTheRequest.has(code)) return true;
  return neverConnected(error.cause);
}
