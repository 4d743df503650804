import type { Context } from "hono";
import type { Registry } from "prom-client";
import { createApp, type AppVariables } from "#daemon/http/app.ts";
import { listenHttp, type HttpListener } from "#daemon/http/listener.ts";
import type { Logger } from "#daemon/log/log.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";

export type InMemoryPushgatewayOptions = Readonly<{
  listen: Readonly<{ host: string; port: number; requestTimeoutMs: number; bodyLimitBytes: number }>;
}>;

/** Labels by name; values are escaped, as between the quotes. */
type Labels = ReadonlyMap<string, string>;

/** A metric's comments and sample lines. */
type Family = Readonly<{ comments: string[]; samples: string[] }>;

/** The metrics of one grouping key, by name, and the times of its last push and its last failed push. */
type Group = Readonly<{ key: Labels; families: ReadonlyMap<string, Family>; pushedAtMs: number; failedAtMs: number }>;

/** Max number of groups; a push that would add another is rejected. */
const groupsMax = 1_000;

const textFormat = "text/plain; version=0.0.4; charset=utf-8";
const groupPath = "/metrics/:group{job(?:@base64)?/.*}";

/**
 * Serves an in-memory Pushgateway for development, with the real one's grouping keys, status codes and push times (Pushgateway's README,
 * "API"). Accepts uncompressed text only, and doesn't check whether groups contradict each other.
 *
 * @throws {StartupError} when the port is taken.
 */
export function startInMemoryPushgateway(
  { listen }: InMemoryPushgatewayOptions,
  { log, metrics }: Readonly<{ log: Logger; metrics: Registry }>,
): Promise<HttpListener> {
  const app = createApp(listen, { log, metrics });
  const groups = new Map<string, Group>();
  const receive = async (c: Context<AppVariables>) => {
    const key = readKey(c);
    if (key === undefined) return c.text("invalid grouping key: expected job/<job>{/<label>/<value>}", 400);
    const id = formatLabels(key);
    const before = groups.get(id) ?? { key, families: new Map(), pushedAtMs: 0, failedAtMs: 0 };
    if (!groups.has(id) && groups.size >= groupsMax) return c.text("too many groups; delete one first", 503);
    const pushed = parsePush(await c.req.text(), key);
    if (typeof pushed === "number") {
      groups.set(id, { ...before, failedAtMs: Date.now() });
      return c.text(`text format parsing error in line ${pushed}`, 400);
    }
    const families = c.req.method === "PUT" ? pushed : new Map([...before.families, ...pushed]);
    groups.set(id, { ...before, families, pushedAtMs: Date.now() });
    return c.body(null, 200);
  };
  app.get("/-/ready", (c) => c.text("OK"));
  app.get("/-/healthy", (c) => c.text("OK"));
  app.get("/metrics", async (c) => {
    const text = `${await metrics.metrics()}${formatGroups([...groups.values()])}`;
    return c.body(text, 200, { "Content-Type": textFormat });
  });
  app.on(["PUT", "POST"], groupPath, receive);
  app.delete(groupPath, (c) => {
    groups.delete(formatLabels(readKey(c) ?? new Map()));
    return c.body(null, 202);
  });
  app.get(operatorPaths.live, (c) => c.json({ status: "ok" }));
  app.get(operatorPaths.ready, (c) => c.json({ status: "ok", checks: {} }));
  return listenHttp(app, { ...listen, setting: "GATEHOUSE_PUSHGATEWAY_LISTEN_PORT" });
}

function readKey(c: Context<AppVariables>): Labels | undefined {
  return parseGroupingKey(new URL(c.req.url).pathname.slice("/metrics/".length));
}

/**
 * Parses a grouping key from the path after `/metrics/`: `job/<job>{/<label>/<value>}`, where `<label>@base64` has its value in base64url.
 * Returns undefined for any other path.
 */
function parseGroupingKey(path: string): Labels | undefined {
  const labels = new Map<string, string>();
  const parts = path.split("/");
  for (let index = 0; index < parts.length; index += 2) {
    const [, name, coding] = /^([a-z_]\w*)(@base64)?$/i.exec(parts[index] ?? "") ?? [];
    const text = parts[index + 1];
    if (name === undefined || text === undefined || (name === "job" && text === "")) return undefined;
    const value = coding === undefined ? decodeURIComponent(text) : Buffer.from(text, "base64url").toString();
    labels.set(name, escape(value));
  }
  return labels;
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

const commentShape = /^#[ \t]+(?:HELP|TYPE)[ \t]+(\S+)[ \t]+\S/;
const sampleShape = /^([a-z_:][\w:]*)[ \t]*(?:\{(.*)\}[ \t]*|[ \t]+)([+-]?(?:[\d.]+(?:e[+-]?\d+)?|nan|inf))$/i;
const labelShape = /([a-z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\[\\"n])*)"/gi;

/**
 * Parses Prometheus's text format 0.0.4 as a group's metrics: the key's labels override those of the samples; `instance` is present even
 * when empty. If a line is invalid, returns the number of the first one instead.
 */
function parsePush(text: string, key: Labels): ReadonlyMap<string, Family> | number {
  const families = new Map<string, Family>();
  const open = (name: string) => {
    const family = families.get(name) ?? { comments: [], samples: [] };
    families.set(name, family);
    return family;
  };
  for (const [index, line] of text.split("\n").entries()) {
    const commented = commentShape.exec(line)?.[1];
    if (commented !== undefined) open(commented).comments.push(line);
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, sample, labels = "", value = ""] = sampleShape.exec(line.trim()) ?? [];
    if (sample === undefined) return index + 1;
    const own = [...labels.matchAll(labelShape)].map(([, name = "", of = ""]) => [name, of] as const);
    const base = sample.replace(/_(?:bucket|sum|count)$/, "");
    const family = open(families.has(base) ? base : sample);
    family.samples.push(`${sample}${formatLabels(new Map([["instance", ""], ...own, ...key]))} ${value}`);
  }
  return families;
}

function formatLabels(labels: Labels): string {
  const pairs = [...labels].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${pairs.map(([label, value]) => `${label}="${value}"`).join(",")}}`;
}

/** Formats the metrics of all groups in Prometheus's text format, with the times of their pushes, sorted by name. */
function formatGroups(groups: readonly Group[]): string {
  const all = groups.flatMap(({ key, families, pushedAtMs, failedAtMs }) => {
    const labels = formatLabels(new Map([["instance", ""], ...key]));
    const time = (name: string, atMs: number): [string, Family] => [
      name,
      { comments: [`# TYPE ${name} gauge`], samples: [`${name}${labels} ${atMs / 1_000}`] },
    ];
    const times = [time("push_failure_time_seconds", failedAtMs), time("push_time_seconds", pushedAtMs)];
    return [...families, ...times];
  });
  const byName = [...Map.groupBy(all, ([name]) => name)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  let text = "";
  for (const [, same] of byName) {
    const lines = same.flatMap(([, { samples }]) => samples);
    text += `${[...(same[0]?.[1].comments ?? []), ...lines].join("\n")}\n`;
  }
  return text;
}
