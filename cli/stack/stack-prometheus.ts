import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { waitUntil, within } from "#daemon/time.ts";
import { selectVariables } from "#daemon/process/program-environment.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { stopChild } from "#daemon/process/stop-child.ts";
import { readRuleGroups } from "#infra/observability/rules.ts";
import { buildPrometheusConfig, type ScrapeTarget } from "#infra/observability/scrape-config.ts";
import { failIfExitedEarly, waitForExit } from "./child-service.ts";
import { openLogFile } from "./log-file.ts";

export type StackPrometheusOptions = Readonly<{
  targets: readonly ScrapeTarget[];
  port: number;
  directory: string;
  logDirectory: string;
  startDeadlineMs: number;
  stopDeadlineMs: number;
  signal: AbortSignal;
}>;

/** A running Prometheus, stopped on disposal. `alertsUrl`: its alerts page. */
export type StackPrometheus = AsyncDisposable & Readonly<{ alertsUrl: string; readyAfterMs: number }>;

/** Short, because a user waits for results; the alert rules tolerate up to two minutes. */
const intervalSeconds = 5;
const pollIntervalMs = 200;

/**
 * Shell script that runs the program, and kills it once the other end of the script's standard input is closed, also when its process is
 * killed; the script exits with the program. Only this user can read the program's files.
 */
const endWithParentScript =
  'umask 077; exec 3<&0; "$@" </dev/null & program=$!; (cat <&3 >/dev/null; kill "$program") & watch=$!; wait "$program"; status=$?; kill "$watch" 2>/dev/null; exit "$status"';

/** @throws {StartupError} with install instructions, if Prometheus is not on PATH. */
export function requirePrometheus(): void {
  if (spawnSync("prometheus", ["--version"], { env: selectVariables(), stdio: "ignore" }).status === 0) return;
  throw new StartupError(
    "--observe needs the program `prometheus`, which is not on PATH. Install it (Debian and Ubuntu: `apt install prometheus`; macOS: " +
      "`brew install prometheus`; others: https://prometheus.io/download), or omit --observe.",
  );
}

/**
 * Runs Prometheus with Gatehouse's rules against a stack, and waits until it responds.
 *
 * @throws {StartupError} when it exits before it responds or times out, with its last output.
 */
export async function startStackPrometheus(options: StackPrometheusOptions): Promise<StackPrometheus> {
  const { directory, port, signal, startDeadlineMs } = options;
  const startedAt = performance.now();
  await writeConfiguration(options);
  const logPath = join(options.logDirectory, "prometheus.log");
  const child = spawnPrometheus(directory, port, logPath);
  const stop = () => stopPrometheus(child, options.stopDeadlineMs);
  const url = `http://127.0.0.1:${port}`;
  try {
    await within(
      "Prometheus becoming ready",
      startDeadlineMs,
      Promise.race([waitForReady(url, signal), failIfExitedEarly("prometheus", waitForExit(child), logPath)]),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  const readyAfterMs = Math.round(performance.now() - startedAt);
  return { alertsUrl: await findAlertsPage(url), readyAfterMs, [Symbol.asyncDispose]: stop };
}

/** Writes the configuration as JSON, which Prometheus reads as YAML. */
async function writeConfiguration({ directory, targets }: StackPrometheusOptions): Promise<void> {
  const runbooks = pathToFileURL(fileURLToPath(new URL("../../docs/runbooks", import.meta.url))).href;
  const config = buildPrometheusConfig({
    targets,
    intervalSeconds,
    ruleFile: "rules.json",
    externalLabels: { stack: "gatehouse" },
  });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(join(directory, "prometheus.json"), JSON.stringify(config, undefined, 2), { mode: 0o600 });
  const groups = readRuleGroups({ runbookBaseUrl: runbooks });
  await writeFile(join(directory, "rules.json"), JSON.stringify({ groups }, undefined, 2), { mode: 0o600 });
}

function spawnPrometheus(directory: string, port: number, logPath: string): ChildProcess {
  const command = [
    "prometheus",
    `--config.file=${join(directory, "prometheus.json")}`,
    `--storage.tsdb.path=${join(directory, "data")}`,
    "--storage.tsdb.retention.time=1d",
    "--storage.tsdb.retention.size=512MB",
    `--web.listen-address=127.0.0.1:${port}`,
    // Stores the trace ID of a duration (an exemplar) if the gateway has tracing enabled.
    "--enable-feature=exemplar-storage",
    // By default, scripts on any page in this machine's browser may read Prometheus's responses.
    "--web.cors.origin=^$",
  ];
  const log = openLogFile(logPath);
  try {
    // A separate process group, so that Ctrl-C reaches only the stack, which controls the shutdown order.
    return spawn("sh", ["-c", endWithParentScript, "sh", ...command], {
      env: selectVariables(),
      detached: true,
      stdio: ["pipe", log, log],
    });
  } finally {
    closeSync(log);
  }
}

async function waitForReady(url: string, signal: AbortSignal): Promise<void> {
  const read = () => fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  const readyResponse = await waitUntil(read, (found) => found?.ok === true, { everyMs: pollIntervalMs, signal });
  if (readyResponse?.ok !== true) throw signal.reason;
}

/** Finds the alerts page: Debian's Prometheus has only the classic one. */
async function findAlertsPage(url: string): Promise<string> {
  const readyResponse = await fetch(`${url}/alerts`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  return `${url}${readyResponse?.status === 404 ? "/classic" : ""}/alerts`;
}

/**
 * Stops Prometheus by closing its standard input; after the deadline, kills its process group, which includes the shell that watches it.
 */
function stopPrometheus(child: ChildProcess, deadlineMs: number): Promise<void> {
  const stop = () => void child.stdin?.end();
  const kill = () => {
    if (child.pid !== undefined) sendSignal(-child.pid, "SIGKILL");
  };
  return stopChild(child, { deadlineMs, stop, kill });
}
