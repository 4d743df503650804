import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listenLocally } from "#daemon/testing/local-server.ts";

/** Fault in calls to `/verify` or `/settle`. */
type ProxyFault =
  | { on: "verify" | "settle"; answer: Readonly<{ status: number; body: string }> }
  | { on: "settle"; loseAnswer: true }
  /** Calls with a matching body never get a response. */
  | { on: "verify"; hangs: (body: string) => boolean };

/** A proxy to a real facilitator, with faults on demand. */
export type FacilitatorProxy = AsyncDisposable &
  Readonly<{
    url: string;
    /** Paths that were requested, in order. */
    calls: string[];
    /** Settlements to which the real facilitator responded; its responses may have been lost. */
    settled: () => number;
    /** Makes all further calls fail; with undefined, forwards them again. */
    fault: (fault: ProxyFault | undefined) => void;
  }>;

/** Forwarded headers of a call. */
const forwarded = ["content-type", "idempotency-key", "authorization", "gatehouse-terms-check"];

/** Starts a proxy to the facilitator at `target`. */
export async function startFacilitatorProxy(target: string): Promise<FacilitatorProxy> {
  const calls: string[] = [];
  let fault: ProxyFault | undefined;
  let settled = 0;
  async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = "/", method = "GET", headers } = request;
    const body = await text(request);
    const active = fault !== undefined && path === `/${fault.on}` ? fault : undefined;
    if (active !== undefined && "answer" in active) {
      return void response.writeHead(active.answer.status).end(active.answer.body);
    }
    if (active !== undefined && "hangs" in active && active.hangs(body)) return;
    const answer = await fetch(`${target}${path}`, {
      method,
      headers: forwarded.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : [])),
      ...(method === "POST" ? { body } : {}),
    });
    const answerText = await answer.text();
    if (path === "/settle") settled += 1;
    if (active !== undefined && "loseAnswer" in active) return void response.socket?.destroy();
    response.writeHead(answer.status, { "Content-Type": "application/json" }).end(answerText);
  }
  const server = createServer(async (request, response) => {
    const path = request.url ?? "/";
    if (path !== "/supported") calls.push(path);
    await passOn(request, response);
  });
  const local = await listenLocally(server);
  return {
    ...local,
    calls,
    settled: () => settled,
    fault: (next) => void (fault = next),
  };
}
