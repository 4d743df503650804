import { Counter, type Registry } from "prom-client";
import { readText } from "#daemon/bytes.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import type { Logger } from "#daemon/log/log.ts";
import { operatorPaths } from "#daemon/stack-services.ts";
import { createRunningTimeout } from "#daemon/time.ts";

/** Time limit of a read during a scrape: the proxy is on the same machine. */
const timeoutMs = 1_000;
/** Max response size; its other metrics are those of every process. */
const answerBytesMax = 262_144;
/** Max kinds of requests, more than any proxy has. */
const kindsMax = 16;
const sample = /^gatehouse_engine_proxy_requests_total\{kind="(?<kind>[a-z-]{1,20})"\} (?<count>\d+)$/gm;

/**
 * Exports the counters of an engine proxy, read at each scrape, because Prometheus can't reach its socket. Exports no samples if there is
 * no response, or if the socket is an engine's own.
 *
 * @param engine `unix:///path`; an engine at a TCP port is no proxy.
 */
export function passOnEngineRequests(
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
