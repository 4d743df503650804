import { Counter, type Registry } from "prom-client";
import type { Logger } from "#daemon/log/log.ts";
import { formatAuthority } from "#daemon/http/address.ts";
import type { MonitorSettings } from "./monitor-settings.ts";

/** Max duration of one push; the interval if that is shorter, so that pushes never overlap. */
const pushDeadlineMs = 5_000;

export type MetricsPusherDependencies = Readonly<{ metrics: Registry; fetch: typeof fetch; log: Logger }>;

/**
 * Pushes the node's metrics to a Pushgateway as text with PUT, at once and then every interval, until disposed of. A failed push is dropped and the
 * next one runs on schedule, because a node works without its Pushgateway. The log reports when failures start and stop;
 * `gatehouse_devnet_push_failures_total` counts them.
 */
export function startMetricsPusher(
  settings: MonitorSettings,
  dependencies: MetricsPusherDependencies,
): AsyncDisposable {
  const { metrics, log } = dependencies;
  const url = buildPushUrl(settings);
  const intervalMs = settings.pushIntervalSeconds * 1_000;
  const failures = new Counter({
    name: "gatehouse_devnet_push_failures_total",
    help: "Pushes of the node's metrics that did not reach the Pushgateway.",
    registers: [metrics],
  });
  const stop = new AbortController();
  let failing = false;
  const push = async () => {
    const reason = await putMetrics(url, Math.min(pushDeadlineMs, intervalMs), stop.signal, dependencies);
    if (stop.signal.aborted) return;
    if (reason !== undefined) failures.inc();
    if (reason !== undefined && !failing)
      log.warn({ event: "metrics-not-pushed", url, reason }, "metrics can't be pushed; retrying");
    if (reason === undefined && failing) log.info({ url }, "pushing metrics works again");
    failing = reason !== undefined;
  };
  let underWay = push();
  const timer = setInterval(() => (underWay = push()), intervalMs);
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      stop.abort();
      await underWay;
    },
  };
}

/**
 * Builds the URL for a job's metrics. A name with a slash does not fit into a path and is sent in base64url, as the Pushgateway's API
 * defines ("URL", `job@base64`).
 */
export function buildPushUrl({ jobName, pushAddress, pushPort }: MonitorSettings): string {
  const job = jobName.includes("/")
    ? `job@base64/${Buffer.from(jobName).toString("base64url")}`
    : `job/${encodeURIComponent(jobName)}`;
  return `http://${formatAuthority(pushAddress, pushPort)}/metrics/${job}`;
}

/** Replaces the job's group with the current metrics; returns the reason on failure. */
async function putMetrics(
  url: string,
  deadlineMs: number,
  stopped: AbortSignal,
  { metrics, fetch }: MetricsPusherDependencies,
): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: "PUT",
      headers: { "content-type": metrics.contentType },
      body: await metrics.metrics(),
      signal: AbortSignal.any([stopped, AbortSignal.timeout(deadlineMs)]),
    });
    await response.body?.cancel();
    return response.ok ? undefined : `the Pushgateway returned HTTP ${response.status}`;
  } catch (error) {
    const { message, cause } = error as Error;
    return cause instanceof Error ? cause.message : message;
  }
}
