import type { IncomingHttpHeaders } from "node:http";
import { createEngineClient as createClient, parseEngineBody, type EngineRequest } from "#daemon/http/docker-engine.ts";

/** An engine's response to an Engine API request; the body is text if it can't be parsed. */
export type EngineAnswer = Readonly<{ status: number; headers: IncomingHttpHeaders; body: unknown }>;

/** Sends a request to an engine, by default a GET without a body; `path` starts with a slash. Rejects on a timeout. */
export type EngineClient = (
  path: string,
  how?: Readonly<{ method?: EngineRequest["method"]; body?: unknown }>,
) => Promise<EngineAnswer>;

/** Timeout for a response from an engine, which queries a registry for images that it does not have. */
const deadlineMs = 10_000;

/** Creates a client for an engine; returns `undefined` if only the engine's own client can connect (ssh, named pipes, TLS). */
export function createEngineClient(dockerEngine: string, hasCertificates: boolean): EngineClient | undefined {
  const { protocol, hostname, port, pathname } = new URL(dockerEngine);
  const isSocket = protocol === "unix:";
  if (!isSocket && (protocol !== "tcp:" || hasCertificates)) return undefined;
  const send = createClient(isSocket ? `unix://${pathname}` : `http://${hostname}:${port === "" ? 2375 : port}`);
  return async (path, { method = "GET", body } = {}) => {
    const response = await send({ method, path, body, signal: AbortSignal.timeout(deadlineMs) });
    if (response.isTruncated) throw new Error(`${path}: the engine's response is too large`);
    return { status: response.status, headers: response.headers, body: parseEngineBody(response) };
  };
}
