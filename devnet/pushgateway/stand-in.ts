import type { Context } from "hono";
import type { Registry } from "prom-client";
import { createApp, type AppVariables } from "#daemon/http/app.ts";
import { listenHttp, type HttpListener } from "#daemon/http/listener.ts";
import type { Logger } from "#daemon/log/log.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import {
  formatFamilies,
  formatSample,
  parseGroupingKey,
  parsePush,
  PushError,
  requireConsistent,
  type Families,
  type Labels,
} from "./pushed-metrics.ts";

/** Limits for all groups together; a push that exceeds them is rejected. */
type Limits = Readonly<{ groups: number; samples: number }>;

export type StandInOptions = Readonly<{
  listen: Readonly<{ host: string; port: number; requestTimeoutMs: number; bodyLimitBytes: number }>;
  limits?: Limits;
}>;

type Group = Readonly<{ key: Labels; families: Families; pushedAtMs: number; failedAtMs: number }>;

const textFormat = "text/plain; version=0.0.4; charset=utf-8";
const groupPath = "/metrics/:group{job(?:@base64)?/.*}";

/**
 * Serves an in-memory Pushgateway for development, with the real one's grouping keys, status codes and push times (Pushgateway's README,
 * "API").
 *
 * @throws {StartupError} when the port is taken.
 */
export function startStandIn(
  { listen, limits = { groups: 1_000, samples: 200_000 } }: StandInOptions,
  { log, metrics }: Readonly<{ log: Logger; metrics: Registry }>,
): Promise<HttpListener> {
  const app = createApp(listen, { log, metrics });
  const groups = new Map<string, Group>();
  const receive = (c: Context<AppVariables>, mode: "replace" | "merge") => {
    const isText = !c.req.header("content-type")?.startsWith("application/vnd.google.protobuf");
    if (!isText || (c.req.header("content-encoding") ?? "identity") !== "identity") {
      return c.text("this stand-in accepts only Prometheus's uncompressed text format", 415);
    }
    return answer(c, async (key) => storePush(groups, { key, text: await c.req.text(), mode }, limits), 200);
  };
  app.get("/-/ready", (c) => c.text("OK"));
  app.get("/-/healthy", (c) => c.text("OK"));
  app.get("/metrics", async (c) => {
    const pushed = [...groups.values()].flatMap((group) => [group.families, buildPushTimes(group)]);
    return c.body(`${await metrics.metrics()}${formatFamilies(pushed)}`, 200, { "Content-Type": textFormat });
  });
  app.put(groupPath, (c) => receive(c, "replace"));
  app.post(groupPath, (c) => receive(c, "merge"));
  app.delete(groupPath, (c) => answer(c, (key) => void groups.delete(formatSample("", key)), 202));
  app.all(groupPath, (c) => c.text("Method Not Allowed", 405, { Allow: "DELETE, OPTIONS, POST, PUT" }));
  app.all("/metrics", (c) => c.text("Method Not Allowed", 405, { Allow: "GET, HEAD, OPTIONS" }));
  app.get(operatorPaths.live, (c) => c.json({ status: "ok" }));
  app.get(operatorPaths.ready, (c) => c.json({ status: "ok", checks: {} }));
  return listenHttp(app, { ...listen, setting: "GATEHOUSE_PUSHGATEWAY_LISTEN_PORT" });
}

/** Applies a request to the group at its path and responds. */
async function answer(
  c: Context<AppVariables>,
  change: (key: Labels) => void | Promise<void>,
  status: 200 | 202,
): Promise<Response> {
  try {
    await change(parseGroupingKey(new URL(c.req.url).pathname.slice("/metrics/".length)));
    return c.body(null, status);
  } catch (error) {
    if (error instanceof PushError) return c.text(error.message, error.isFull ? 503 : 400);
    if (error instanceof URIError) return c.text("invalid percent encoding", 400);
    throw error;
  }
}

/** Stores a push atomically, and the time of its success or failure. */
function storePush(
  groups: Map<string, Group>,
  { key, text, mode }: Readonly<{ key: Labels; text: string; mode: "replace" | "merge" }>,
  limits: Limits,
): void {
  const id = formatSample("", key);
  const before = groups.get(id) ?? { key, families: new Map(), pushedAtMs: 0, failedAtMs: 0 };
  if (!groups.has(id) && groups.size >= limits.groups) throw new PushError("too many groups; delete one first", true);
  const pushed = parsePush(text, key);
  const families = mode === "replace" ? pushed : new Map([...before.families, ...pushed]);
  const others = [...groups].filter(([other]) => other !== id).map(([, group]) => group.families);
  try {
    const counts = [families, ...others].flatMap((all) => [...all.values()].map(({ samples }) => samples.size));
    if (counts.reduce((sum, count) => sum + count, 0) > limits.samples) {
      throw new PushError(`more than ${limits.samples} samples; delete a group first`, true);
    }
    requireConsistent(families, others);
  } catch (error) {
    groups.set(id, { ...before, failedAtMs: Date.now() });
    throw error;
  }
  groups.set(id, { ...before, families, pushedAtMs: Date.now() });
}

function buildPushTimes({ key, pushedAtMs, failedAtMs }: Group): Families {
  const labels = new Map([["instance", ""], ...key]);
  const build = (name: string, atMs: number) =>
    [
      name,
      { type: "gauge", help: undefined, samples: new Map([[formatSample(name, labels), `${atMs / 1_000}`]]) },
    ] as const;
  return new Map([build("push_failure_time_seconds", failedAtMs), build("push_time_seconds", pushedAtMs)]);
}
