import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { within } from "#daemon/time.ts";
import { renderRuleFile, type RuleGroup } from "#infra/observability/rules.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { until } from "#daemon/testing/until.ts";

export const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;

export const withoutPrometheus = hasPrometheus ? "" : " (skipped: prometheus is not on PATH)";

const startDeadlineMs = 30_000;
const stopDeadlineMs = 20_000;
const queryDeadlineMs = 10_000;

type ScrapedJobs = Readonly<Record<string, readonly string[]>>;

type ActiveAlert = Readonly<{
  state: "pending" | "firing";
  labels: Readonly<Record<string, string>>;
}>;

type Sample = Readonly<{ metric: Readonly<Record<string, string>>; value: readonly [number, string] }>;

export type RunningPrometheus = AsyncDisposable &
  Readonly<{
    url: string;
    scrape: (jobs: ScrapedJobs) => Promise<void>;
    alerts: () => Promise<readonly ActiveAlert[]>;
    query: (expression: string) => Promise<readonly Sample[]>;
  }>;

type PrometheusOptions = Readonly<{
  rules: readonly RuleGroup[];
  intervalMs: number;
  /** Time for which an ended series remains visible; Prometheus's own default is five minutes. */
  lookbackMs?: number;
}>;

export async function startPrometheus(options: PrometheusOptions): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-prometheus-"));
  const [port = 0] = await findFreePorts(1);
  const url = `http://127.0.0.1:${port}`;
  await writeFiles(folder, options);
  const child = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yaml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--enable-feature=exemplar-storage",
      `--query.lookback-delta=${options.lookbackMs ?? 300_000}ms`,
      "--log.level=warn",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let printed = "";
  child.stderr.on("data", (chunk: Buffer) => (printed = (printed + String(chunk)).slice(-4_096)));
  const exited = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    await within("the end of Prometheus", stopDeadlineMs, exited);
    await rm(folder, { recursive: true, force: true });
  };
  await until("Prometheus is ready", startDeadlineMs, async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus exited: ${printed}`);
    return (await fetch(`${url}/-/ready`)).ok;
  });
  return {
    url,
    scrape: (jobs) => writeTargets(folder, jobs),
    alerts: async () => (await ask<{ alerts: readonly ActiveAlert[] }>(`${url}/api/v1/alerts`)).alerts,
    query: async (expression) => {
      const asked = new URLSearchParams({ query: expression });
      return (await ask<{ result: readonly Sample[] }>(`${url}/api/v1/query?${asked.toString()}`)).result;
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Lists the names of the firing alerts. */
export async function listFiringAlerts({ alerts }: Pick<RunningPrometheus, "alerts">): Promise<readonly string[]> {
  return (await alerts()).flatMap(({ state, labels }) => (state === "firing" ? (labels["alertname"] ?? []) : []));
}

async function writeFiles(folder: string, { rules, intervalMs }: PrometheusOptions): Promise<void> {
  const interval = `${intervalMs}ms`;
  const discovery = { files: ["targets.json"], refresh_interval: "1s" };
  const config = {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: ["rules.yaml"],
    scrape_configs: [{ job_name: "gatehouse", file_sd_configs: [discovery] }],
  };
  await writeFile(join(folder, "prometheus.yaml"), stringify(config));
  await writeFile(join(folder, "rules.yaml"), renderRuleFile(rules));
  await writeTargets(folder, {});
}

async function writeTargets(folder: string, jobs: ScrapedJobs): Promise<void> {
  const groups = Object.entries(jobs).map(([job, targets]) => ({ targets, labels: { job } }));
  const path = join(folder, "targets.json");
  await writeFile(`${path}.new`, JSON.stringify(groups));
  await rename(`${path}.new`, path);
}

async function ask<Data>(url: string): Promise<Data> {
  const response = await fetch(url, { signal: AbortSignal.timeout(queryDeadlineMs) });
  const body = (await response.json()) as { status: string; data: Data; error?: string };
  if (body.status !== "success") throw new Error(`Prometheus returned ${response.status}: ${body.error}`);
  return body.data;
}
