import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listenLocally } from "#daemon/testing/local-server.ts";

type TappedCall = Readonly<{ id: number; method: string; params: readonly unknown[] }>;

/**
 * Fate of a request: forwarded to the node, no response, a lost response, a made-up response, or the node's with other
 * results by id.
 */
export type TapRule =
  | "forward"
  | "hang"
  | "lose_answer"
  | Readonly<{ status: number; body: string }>
  | Readonly<{ results: ReadonlyMap<number, unknown> }>;

export type Decide = (calls: readonly TappedCall[]) => TapRule | Promise<TapRule>;

export type RpcTap = AsyncDisposable &
  Readonly<{
    url: string;
    counts: Map<string, number>;
    total: () => number;
    /** Number of received calls of a method without a response yet. */
    open: (method: string) => number;
    rule: (decide: Decide) => void;
    /** Closes the connections of all hanging requests. */
    release: () => void;
  }>;

export async function startRpcTap(nodeUrl: string): Promise<RpcTap> {
  const counts = new Map<string, number>();
  const open = new Set<readonly TappedCall[]>();
  const hanging = new Set<ServerResponse>();
  let decide: Decide | undefined;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const message = JSON.parse(body) as TappedCall | TappedCall[];
    const calls = Array.isArray(message) ? message : [message];
    for (const { method } of calls) counts.set(method, (counts.get(method) ?? 0) + 1);
    open.add(calls);
    response.once("close", () => open.delete(calls));
    const rule = (await decide?.(calls)) ?? "forward";
    if (rule === "hang") {
      hanging.add(response);
      response.once("close", () => hanging.delete(response));
    } else await applyRule(rule, { nodeUrl, body, response });
  });
  const local = await listenLocally(server);
  return {
    ...local,
    counts,
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
    open: (method) => [...open].flat().filter((call) => call.method === method).length,
    rule: (next) => (decide = next),
    release: () => {
      for (const response of hanging) response.destroy();
    },
  };
}

async function applyRule(
  rule: Exclude<TapRule, "hang">,
  { nodeUrl, body, response }: Readonly<{ nodeUrl: string; body: string; response: ServerResponse }>,
): Promise<void> {
  if (typeof rule === "object" && "body" in rule) {
    response.writeHead(rule.status).end(rule.body);
    return;
  }
  const answer = await fetch(nodeUrl, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const answeredResponse = await answer.text();
  if (rule === "lose_answer") response.destroy();
  else
    response
      .writeHead(answer.status, { "Content-Type": "application/json" })
      .end(replaceResults(answeredResponse, rule));
}

function replaceResults(answered: string, rule: TapRule): string {
  if (typeof rule !== "object" || !("results" in rule)) return answered;
  const replace = (one: { id: number }) =>
    rule.results.has(one.id) ? { jsonrpc: "2.0", id: one.id, result: rule.results.get(one.id) } : one;
  const responses = JSON.parse(answered) as { id: number } | { id: number }[];
  return JSON.stringify(Array.isArray(responses) ? responses.map(replace) : replace(responses));
}
