import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";

/** The requests to a gateway, and their rate. */
export type Load = Readonly<{ url: string; callsPerSecond: number; method?: "eth_getBalance" | "eth_chainId" }>;

const callDeadlineMs = 15_000;
const underWayMax = 500;

/** Calls a gateway at a steady rate until it is disposed of; each read is different, so that the cache serves none. */
export function startLoad({ url, callsPerSecond, method = "eth_getBalance" }: Load): AsyncDisposable {
  const stopController = new AbortController();
  const agent = new Agent({ connections: underWayMax });
  const underWay = new Set<Promise<unknown>>();
  let count = 0;
  const call = async () => {
    count += 1;
    const params = method === "eth_getBalance" ? [`0x${count.toString(16).padStart(40, "0")}`, "latest"] : [];
    const body = JSON.stringify({ jsonrpc: "2.0", id: count, method, params });
    const headers = { "content-type": "application/json" };
    const signal = AbortSignal.timeout(callDeadlineMs);
    const response = await request(url, { method: "POST", headers, body, dispatcher: agent, signal });
    await response.body.dump();
  };
  const run = async () => {
    const startedAt = performance.now();
    while (!stopController.signal.aborted) {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * callsPerSecond) - count;
      const now = Math.min(due, underWayMax - underWay.size);
      for (let started = 0; started < now; started += 1) {
        // A failed call is only visible in the metrics.
        const one = call().catch(() => undefined);
        underWay.add(one);
        void one.finally(() => underWay.delete(one));
      }
      await sleep(20);
    }
    await Promise.all(underWay);
    await agent.close();
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      stopController.abort();
      await running;
    },
  };
}
