import { Counter, type Registry } from "prom-client";
import { readText } from "#daemon/bytes.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import type { Logger } from "#daemon/log/log.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { createRunningTimeout } from "#daemon/time.ts";

/** Time limit for a read during a scrape; it can be short because the proxy is on the same machine. */
const timeoutMs = 1_000;
/** Max response size; the proxy's other metrics are those that every process has. */
const answerBytesMax = 262_144;
/** Max number of request kinds, which exceeds any proxy's. */
const kindsMax = 16;
const sample = /^gatehouse_engine_proxy_requests_total\{kind="(?<kind>[a-z-]{1,20})"\} (?<count>\d+)$/gm;

/**
 * Exports an engine proxy's counters, which are read at each scrape because Prometheus can't reach the proxy's socket. Exports no samples
 * if there is no response, or if the socket belongs to an engine itself.
 *
 * @param engine `unix:///path`; an engine on a TCP port is not a proxy.
 */
export function forwardEngineRequests(
  engine: string,
  { metrics, log }: Readonly<{ metrics: Registry; log: Logger }>,
): void {
  if (!engine.startsWith("unix://")) return;
  const socketPath = engine.slice("unix://".length);
  const requests: Counter<"kind"> = new Counter({
    name: "gatehouse_engine_proxy_requests_total",
    help: "Requests to the Docker Engine, by kind; kind refused: not forwarded.",
    labelNames: ["kind"],
    registers: [metrics],
    async collect() {
      const counts = await readCounts(socketPath).catch((err: unknown) => {
        // The engine's users report that it doesn't respond.
        log.debug({ err }, "the engine proxy returned no metrics");
        return [];
      });
      requests.reset();
      for (const { kind, count } of counts) requests.inc({ kind }, count);
    },
  });
}

async function readCounts(socketPath: string) {
  const signal = createRunningTimeout(timeoutMs);
  const url = `http://engine-proxy${operatorPaths.metrics}`;
  const answer = await sendRequest({ url, socketPath, method: "GET", headers: {}, signal });
  const text = await readText(answer, answerBytesMax);
  if (answer.statusCode !== 200) return [];
  return [...text.matchAll(sample)]
    .slice(0, kindsMax)
    .map(({ groups }) => ({ kind: groups?.["kind"] ?? "", count: Number(groups?.["count"]) }));
}
