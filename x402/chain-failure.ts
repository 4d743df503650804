import { BaseError, HttpRequestError, RpcRequestError } from "viem";

const lineCharactersMax = 300;

/** Describes a failed query of a chain in one line: viem's own lines contain the full URL, and guesses about the parameters. */
export function describeChainFailure(error: BaseError): string {
  if (isNodeError(error)) return `the node's error: ${toLine(error.details)}`;
  const http = error.walk((one) => one instanceof HttpRequestError) as HttpRequestError | null;
  if (http?.status !== undefined) return `HTTP ${http.status}: ${toLine(http.details)}`;
  const deepest: unknown = error.walk();
  if (!(deepest instanceof Error) || deepest instanceof BaseError) return toLine(error.shortMessage);
  // If several addresses refused the connection, the error has only a code.
  return `${toLine(error.shortMessage)} ${toLine(deepest.message || String((deepest as NodeJS.ErrnoException).code))}`;
}

/** Returns whether the node returned a JSON-RPC error. */
export function isNodeError(error: BaseError): boolean {
  return error.walk((one) => one instanceof RpcRequestError) !== null;
}

function toLine(text: string): string {
  // The body of an HTTP error is quoted as JSON.
  const unquoted = text.replace(/^"([^]*?)"?$/, "$1");
  return (unquoted.split(/\n|\\n/)[0] ?? "").slice(0, lineCharactersMax);
}
