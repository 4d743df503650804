import { createServer } from "node:http";
import { listenLocally } from "#daemon/testing/local-server.ts";

/** Behaviour of the upstream from now on; `data` unless a test sets another. */
type UpstreamBehaviour = "data" | "held" | "error" | "hang" | "large" | "largest" | "too large" | "declined";

export type TestUpstream = AsyncDisposable &
  Readonly<{
    url: string;
    hits: () => number;
    seen: string[];
    /** Behaves like this from now on, and sends these headers with each response. */
    behave: (behaviour: UpstreamBehaviour, headers?: Readonly<Record<string, string>>) => void;
    letGo: () => void;
    breakOff: () => void;
  }>;

/** Size of a `large` response: more than an unread connection can hold. */
export const largeBytes = 7_000_000;
export const largestBytes = 8_388_608;

export async function startUpstream(): Promise<TestUpstream> {
  const seen: string[] = [];
  const held: (() => void)[] = [];
  let behaviour: UpstreamBehaviour = "data";
  let extra: Readonly<Record<string, string>> = {};
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    if (behaviour === "hang") return;
    response.setHeader("Content-Type", "application/json");
    for (const [name, value] of Object.entries(extra)) response.setHeader(name, value);
    if (behaviour === "declined") return void response.writeHead(404).end('{"error":"none"}');
    if (behaviour === "error") return void response.writeHead(500).end('{"secret":"stack trace"}');
    if (behaviour === "large") return void response.end(JSON.stringify("x".repeat(largeBytes)));
    if (behaviour === "largest") return void response.end(Buffer.alloc(largestBytes, " "));
    if (behaviour === "too large") return void response.end(Buffer.alloc(largestBytes + 1, " "));
    const answer = JSON.stringify({ sold: seen.length });
    if (behaviour === "held") held.push(() => response.end(answer));
    else response.end(answer);
  });
  const local = await listenLocally(server);
  return {
    ...local,
    hits: () => seen.length,
    seen,
    behave(next, headers = {}) {
      behaviour = next;
      extra = headers;
      seen.length = 0;
    },
    letGo: () => {
      for (const respond of held.splice(0)) respond();
    },
    breakOff: () => server.closeAllConnections(),
  };
}
