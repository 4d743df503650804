import type { IncomingHttpHeaders } from "node:http";
import { readBodyStart } from "../bytes.ts";
import { truncateText } from "../secrets/mask.ts";
import { sendRequest } from "./send-request.ts";

/** A request to a Docker engine. The path has no API version: the calls used here are the same in all of them. */
export type EngineRequest = Readonly<{
  method: "GET" | "HEAD" | "POST" | "DELETE";
  path: string;
  body?: unknown;
  signal: AbortSignal;
  /** Max size of a response; default: 8 MiB. */
  responseLimitBytes?: number;
}>;

/** Response of an engine; `isTruncated`: the body was cut off at the request's limit. */
export type EngineResponse = Readonly<{
  status: number;
  headers: IncomingHttpHeaders;
  body: Uint8Array;
  isTruncated: boolean;
}>;

const defaultLimitBytes = 8_388_608;
const socketScheme = "unix://";

/** Creates a client for the Engine API at `unix:///path` or `http://host:port`. A request rejects with a system error or an AbortError. */
export function createEngineClient(address: string): (request: EngineRequest) => Promise<EngineResponse> {
  const isSocket = address.startsWith(socketScheme);
  const socket = isSocket ? { socketPath: address.slice(socketScheme.length) } : {};
  const origin = isSocket ? "http://docker" : address.replace(/\/$/, "");
  return async ({ method, path, body, signal, responseLimitBytes = defaultLimitBytes }) => {
    const headers: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const response = await sendRequest({ ...socket, url: `${origin}${path}`, method, headers, body: sent, signal });
    const { bytes, isTruncated } = await readBodyStart(response, responseLimitBytes);
    // A body without a length ends when its connection closes, so a body cut off by the signal looks complete.
    if (!isTruncated) signal.throwIfAborted();
    return { status: response.statusCode ?? 0, headers: response.headers, body: bytes, isTruncated };
  };
}

/** Parses a response's body; returns text if it isn't JSON, as from `/_ping`, a command or an intermediate proxy. */
export function parseEngineBody({ body }: Pick<EngineResponse, "body">): unknown {
  const text = new TextDecoder().decode(body);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Reads the status and the message of an engine's error response. */
export function readEngineMessage(response: Pick<EngineResponse, "status" | "body">): string {
  const body = parseEngineBody(response);
  const message = typeof body === "string" ? truncateText(body, 200) : (body as { message?: unknown } | null)?.message;
  return `${response.status}: ${String(message)}`;
}

export type ContainerOutput = Readonly<{ output: string; errors: string }>;

const headerBytes = 8;
const standardError = 2;

/**
 * Splits the engine's multiplexed stream: frames of one byte for the stream (1 output, 2 errors), three zero bytes, the length as four
 * bytes, big endian, and the content (Docker Engine API, "Attach to a container", stream format). If a frame is cut off, uses the part that
 * was received.
 */
export function splitContainerOutput(bytes: Uint8Array): ContainerOutput {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks: Record<keyof ContainerOutput, Uint8Array[]> = { output: [], errors: [] };
  let offset = 0;
  while (offset + headerBytes <= bytes.length) {
    const end = offset + headerBytes + view.getUint32(offset + 4);
    const target = bytes[offset] === standardError ? "errors" : "output";
    chunks[target].push(bytes.subarray(offset + headerBytes, end));
    offset = end;
  }
  return {
    output: Buffer.concat(chunks.output).toString("utf8"),
    errors: Buffer.concat(chunks.errors).toString("utf8"),
  };
}
