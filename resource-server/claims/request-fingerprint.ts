import { createHash } from "node:crypto";

/** Names a request by all that decides what it buys: method, path with query, body. Hexadecimal SHA-256. */
export function requestFingerprint(
  request: Readonly<{ method: string; target: string; body: Uint8Array | undefined }>,
): string {
  const body = createHash("sha256")
    .update(request.body ?? new Uint8Array())
    .digest("hex");
  return createHash("sha256").update(`${request.method} ${request.target}\n${body}`).digest("hex");
}
