import type { Registry } from "prom-client";
import type { Context } from "hono";
import { createApp, type App, type AppVariables } from "#daemon/http/app.ts";
import { listenHttp, type HttpListener } from "#daemon/http/listener.ts";
import type { Logger } from "#daemon/log/log.ts";
import { operatorPaths } from "#daemon/stack-services.ts";
import { createPushStore, PushError, type Push, type PushStore } from "./push-store.ts";
import { parseMetricsText, formatText, TextFormatError } from "./text-format.ts";
import { GroupingKeyError, parseGroupingKey } from "./grouping-key.ts";

export type StandInOptions = Readonly<{
  listen: Readonly<{ host: string; port: number; requestTimeoutMs: number; bodyLimitBytes: number }>;
  limits: Readonly<{ groups: number; samples: number }>;
}>;

/**
 * Serves a Pushgateway for development: the real one's API and grouping-key semantics, all in memory.
 *
 * @throws {StartupError} when the port is taken.
 */
export async function startStandIn(
  { listen, limits }: StandInOptions,
  { log, metrics }: Readonly<{ log: Logger; metrics: Registry }>,
): Promise<HttpListener> {
  // The store shows the metrics of this process as well, read again before every answer; they are made asynchronously.
  let own = parseMetricsText(await metrics.metrics());
  const app = createApp(listen, { log, metrics });
  app.use(async (_, next) => {
    own = parseMetricsText(await metrics.metrics());
    await next();
  });
  const store = createPushStore(
    { groupsMax: limits.groups, samplesMax: limits.samples },
    { now: Date.now, own: () => own },
  );
  addPushRoutes(app, { store });
  app.get(operatorPaths.live, (c) => c.json({ status: "ok" }));
  app.get(operatorPaths.ready, (c) => c.json({ status: "ok", checks: {} }));
  return listenHttp(app, { ...listen, setting: "GATEHOUSE_PUSHGATEWAY_LISTEN_PORT" });
}

const textFormat = "text/plain; version=0.0.4; charset=utf-8";
const group = "/metrics/:group{job(?:@base64)?/.*}";

type AppContext = Context<AppVariables>;

/**
 * Adds the Pushgateway's API: PUT, POST and DELETE of a group, what was pushed at `/metrics`, and its own health. Status codes
 * are those of Pushgateway 1.5.1: 200 for a push that was checked and kept, 400 for one that was not, 202 for a deletion.
 */
function addPushRoutes(app: App, { store }: Readonly<{ store: PushStore }>): void {
  app.get("/-/ready", (c) => c.text("OK"));
  app.get("/-/healthy", (c) => c.text("OK"));
  app.get("/metrics", (c) => c.body(formatText(store.families()), 200, { "Content-Type": textFormat }));
  app.put(group, (c) => answer(c, () => storePush(c, store, "replace")));
  app.post(group, (c) => answer(c, () => storePush(c, store, "merge")));
  app.delete(group, (c) => answer(c, () => remove(c, store)));
  app.all(group, (c) => c.text("Method Not Allowed", 405, { Allow: "DELETE, OPTIONS, POST, PUT" }));
  app.all("/metrics", (c) => c.text("Method Not Allowed", 405, { Allow: "GET, HEAD, OPTIONS" }));
}

async function storePush(c: AppContext, store: PushStore, mode: Push["mode"]): Promise<Response> {
  const key = parseGroupingKey(readGroupPath(c));
  const coding = c.req.header("content-encoding") ?? "identity";
  const type = c.req.header("content-type") ?? "";
  if (coding !== "identity" || type.startsWith("application/vnd.google.protobuf")) {
    return c.text("this stand-in reads Prometheus's text format, not compressed; send that", 415);
  }
  const text = new TextDecoder("utf-8", { fatal: true }).decode(await c.req.arrayBuffer());
  store.push({ mode, key, families: parseMetricsText(text) });
  return c.body(null, 200);
}

async function remove(c: AppContext, store: PushStore): Promise<Response> {
  store.remove(parseGroupingKey(readGroupPath(c)));
  return c.body(null, 202);
}

/** Reads the path after `/metrics/`, still percent-encoded. */
function readGroupPath(c: AppContext): string {
  return new URL(c.req.url).pathname.slice("/metrics/".length);
}

async function answer(c: AppContext, handle: () => Promise<Response>): Promise<Response> {
  try {
    return await handle();
  } catch (error) {
    if (error instanceof PushError) return c.text(error.message, error.code === "full" ? 503 : 400);
    if (error instanceof GroupingKeyError || error instanceof TextFormatError) return c.text(error.message, 400);
    if (isNotUtf8(error)) return c.text("text format parsing error: the body is not UTF-8", 400);
    throw error;
  }
}

function isNotUtf8(error: unknown): boolean {
  return error instanceof TypeError && (error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA";
}
