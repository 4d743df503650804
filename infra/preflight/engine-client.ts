import type { IncomingHttpHeaders } from "node:http";
import { readText } from "#daemon/bytes.ts";
import { sendRequest, type HttpRequest } from "#daemon/http/send-request.ts";

/** An engine's answer to a request of the Engine API; its body is text where that can't be parsed. */
export type EngineAnswer = Readonly<{ status: number; headers: IncomingHttpHeaders; body: unknown }>;

/** A request to an engine; by default a GET without a body. */
export type EngineRequest = Readonly<{ method?: "GET" | "HEAD" | "POST" | "DELETE"; body?: unknown }>;

/** Sends a request to an engine; `path` begins with a slash. Rejects if it does not answer in time. */
export type EngineClient = (path: string, how?: EngineRequest) => Promise<EngineAnswer>;

/** Time in which an engine has to answer; it queries a registry for an image that it does not have. */
const deadlineMs = 10_000;

const answerLimitBytes = 8_388_608;

/** Creates a client of an engine; `undefined` if only the engine's own client knows the way (ssh, named pipes, TLS). */
export function createEngineClient(dockerEngine: string, hasCertificates: boolean): EngineClient | undefined {
  const { protocol, hostname, port, pathname } = new URL(dockerEngine);
  if (protocol === "unix:") return (path, how) => send({ url: `http://docker${path}`, socketPath: pathname }, how);
  if (protocol !== "tcp:" || hasCertificates) return undefined;
  const origin = `http://${hostname}:${port === "" ? 2375 : port}`;
  return (path, how) => send({ url: `${origin}${path}` }, how);
}

async function send(
  target: Pick<HttpRequest, "url" | "socketPath">,
  { method = "GET", body }: EngineRequest = {},
): Promise<EngineAnswer> {
  const headers: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const signal = AbortSignal.timeout(deadlineMs);
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const answer = await sendRequest({ ...target, method, headers, body: sent, signal });
  const text = await readText(answer, answerLimitBytes);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // `/_ping` answers text, a command prints what it likes, and a proxy in between may answer anything.
    return text;
  }
}
