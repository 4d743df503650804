import type { Registry } from "prom-client";
import type { z } from "zod";
import type { ActiveConfiguration } from "./http/operations-listener.ts";
import { createActiveFiles, type ActiveFiles } from "./files/active-files.ts";
import { registerForHotRestart, type HotRestart } from "./hot-restart/part.ts";
import { within } from "./time.ts";
import { formatPrettyLines, type LogFormat } from "./log/log-format.ts";
import { createLog, type Logger } from "./log/log.ts";
import type { Mask } from "./secrets/mask.ts";
import { createMetrics } from "./metrics.ts";
import { digestSettings, resolveSettings, type SettingsDefinition } from "./settings/settings.ts";
import { SettingsError } from "./settings/problem.ts";
import { formatFailure } from "./command-line/start-failure.ts";
import { announceProcess, type Announcement } from "./running-services.ts";
import { startWithDeadline } from "./process/start-step.ts";
import { waitForAbort, createStopSignal } from "./process/stop-signal.ts";
import { version } from "./version.ts";
import { findUserStateDirectory } from "./files/user-state-directory.ts";

/** Context that a service gets from its process. */
export type ServiceContext = Readonly<{
  log: Logger;
  metrics: Registry;
  /** Hot-reloaded files and their active content. */
  files: ActiveFiles;
  /** The active settings and files, as shown by `/configuration`. */
  configuration: () => ActiveConfiguration;
  /** Knows the secrets and URLs in the settings; all output of the process passes through it. */
  mask: Mask;
  /** Closed in reverse order of `use` when the service stops. */
  resources: AsyncDisposableStack;
  signal: AbortSignal;
  /** Directory for those parts of the service's state whose path is not set. */
  userStateDirectory: string;
  /** Registers work that a shutdown waits for beyond `shutdown.graceMs`, because interrupting it would leave it half done. */
  finishes: (work: UnfinishedWork) => void;
  /**
   * Registers the function that releases all exclusive resources for a hot restart, while this process keeps serving. Called at most once;
   * a service that doesn't register one has no exclusive resources.
   */
  yields: (release: () => Promise<void>) => void;
  /** Whether a predecessor or successor may run at the same time: they must then share what they write to. */
  isHandedOver: boolean;
  /**
   * Registers the function that drains clients once the next process serves: shutdown starts when it resolves, after the last client has
   * disconnected. Called at most once. Without one, the shutdown starts immediately, and work in flight is drained within
   * `shutdown.graceMs`.
   */
  leaves: (drainClients: () => Promise<void>) => void;
}>;

/** Work in progress that must finish; `withinMs` limits how long a shutdown waits for it. */
export type UnfinishedWork = Readonly<{ what: string; done: Promise<unknown>; withinMs: number }>;

/** URLs of a started service by name, e.g. `{ facilitator: "http://127.0.0.1:3000" }`. */
export type ServiceReady = Readonly<{ urls: Readonly<Record<string, string>>; announced?: Announcement }>;

/** A long-running process: its settings and its start function. */
export type Service<Schema extends z.ZodObject> = Readonly<{
  definition: SettingsDefinition<Schema>;
  start(settings: z.output<Schema>, context: ServiceContext): Promise<ServiceReady>;
}>;

/** Settings of every service (added by `defineSettings`). */
type CommonSettings = Readonly<{
  log: { level: string; format: LogFormat };
  start: { deadlineMs: number };
  shutdown: { graceMs: number };
}>;

/**
 * Runs a service until a signal stops it, and returns the process's exit status: 0 after a clean shutdown, 1 when settings are invalid, the
 * startup fails or exceeds `start.deadlineMs`, or the shutdown exceeds `shutdown.graceMs` plus the time for work that must finish. A stop
 * signal during startup doesn't wait for the startup. A parent with an IPC channel is sent `{ type: "ready", urls }` once the service
 * accepts requests.
 */
export async function runService<Schema extends z.ZodObject>(
  service: Service<Schema>,
  options: Readonly<{ settingsFile?: string | undefined }>,
  { mask }: Readonly<{ /** Learns the secrets in the settings. */ mask: Mask }>,
): Promise<number> {
  const left = new AbortController();
  const signal = AbortSignal.any([createStopSignal(), left.signal]);
  const name = service.definition.service;
  const hotRestart = registerForHotRestart(process.env);
  try {
    const { settings, unused } = resolveSettings(service.definition, {
      env: process.env,
      file: options.settingsFile,
    });
    const { log: logSettings, shutdown } = settings as CommonSettings;
    mask.hide(settings);
    const pretty = await formatPrettyLines(logSettings.format, process.stdout, process.env);
    const log = createLog({ service: name, level: logSettings.level, mask, pretty });
    changeLevelOnSignal(log);
    for (const { name: setting, message } of unused)
      log.warn({ event: "setting-unused", setting }, `${setting}: ${message}`);
    const resources = new AsyncDisposableStack();
    const metrics = createMetrics(name);
    const unfinishedWork = new Set<UnfinishedWork>();
    const finishes = (work: UnfinishedWork) => {
      unfinishedWork.add(work);
      // The owner of the work reports its failure.
      void work.done.catch(() => undefined).finally(() => unfinishedWork.delete(work));
    };
    const stateHome = findUserStateDirectory(process.env);
    const files = createActiveFiles(metrics);
    const settingsSha256 = digestSettings(service.definition, process.env);
    let drainClients: (() => Promise<void>) | undefined;
    const context = {
      log,
      metrics,
      files,
      configuration: () => ({ service: name, version, settingsSha256, files: files.list() }),
      mask,
      resources,
      signal,
      userStateDirectory: stateHome,
      finishes,
      yields: (release: () => Promise<void>) => hotRestart?.release(release),
      isHandedOver: hotRestart !== undefined,
      leaves: (how: () => Promise<void>) => (drainClients = how),
    };
    if (hotRestart !== undefined) {
      followSettings(hotRestart, { files, log });
      hotRestart.leave(() => {
        if (!signal.aborted) void endAfter(drainClients, { left, log });
      });
      await hotRestart.waitForTurn(signal);
      if (signal.aborted) return 0;
    }
    const startError = await serve(service, settings, context);
    // The signal stops everything that started before the failure.
    if (startError !== undefined) left.abort("startup failed");
    const stopped = stop(name, { graceMs: shutdown.graceMs, unfinished: unfinishedWork, resources, log });
    await stopped.catch((error: unknown) => {
      if (startError === undefined) throw error;
      log.error({ event: "stop-unclean", err: error }, "not stopped cleanly");
    });
    if (startError !== undefined) throw startError;
    log.info({ event: "service-stopped" }, "stopped");
    return 0;
  } catch (error) {
    process.stderr.write(`${mask.text(formatStartFailure(name, error))}\n`);
    return 1;
  }
}

/** Reports the settings file like every other hot-reloaded file. */
function followSettings(hotRestart: HotRestart, { files, log }: Pick<ServiceContext, "files" | "log">): void {
  const setting = "settingsPath";
  hotRestart.followSettings(({ path, sha256, rejected }) => {
    files.recordActive({ setting, path, sha256 });
    if (rejected === undefined) return;
    files.recordRejected(setting, [rejected]);
    log.error({ event: "file-rejected", path }, `${path}: ${rejected}; the previous settings stay active`);
  });
}

/** Stops the process once its clients are drained. */
async function endAfter(
  drainClients: (() => Promise<void>) | undefined,
  { left, log }: Readonly<{ left: AbortController; log: Logger }>,
): Promise<void> {
  try {
    await drainClients?.();
  } catch (error) {
    log.error({ event: "stop-unclean", err: error }, "not stopped cleanly");
  }
  left.abort("handed over");
}

/** Sets the log level to `debug` on a SIGUSR2 and back on the next one, to debug a running service without a restart. */
function changeLevelOnSignal(log: Logger): void {
  const configuredLevel = log.level;
  process.on("SIGUSR2", () => {
    log.level = log.level === configuredLevel ? "debug" : configuredLevel;
    log.warn({ event: "log-level-changed", changedTo: log.level }, "log level changed; SIGUSR2 changes it back");
  });
}

/** Closes everything. Work that must finish first has its own time limit; a second signal exits the process at once. */
async function stop(
  name: string,
  {
    graceMs,
    unfinished: unfinishedWork,
    resources,
    log,
  }: Readonly<{
    graceMs: number;
    unfinished: ReadonlySet<UnfinishedWork>;
    resources: AsyncDisposableStack;
    log: Logger;
  }>,
): Promise<void> {
  const resourcesClosed = resources.disposeAsync();
  for (const { what, done, withinMs } of unfinishedWork) {
    log.info(
      { event: "service-stop-waits", what, withinMs },
      "shutdown is waiting for this to finish; a second signal exits at once",
    );
    const ended = done.catch(() => undefined);
    await within(what, withinMs, ended).catch((error: unknown) =>
      log.error({ event: "stop-cut-off", err: error }, "cut off"),
    );
  }
  await within(`stopping ${name}`, graceMs, resourcesClosed);
}

async function serve<Schema extends z.ZodObject>(
  service: Service<Schema>,
  settings: z.output<Schema>,
  context: ServiceContext,
): Promise<Error | undefined> {
  const { log, signal } = context;
  const stopped = waitForAbort(signal);
  const start = async (): Promise<void> => {
    const { deadlineMs } = (settings as CommonSettings).start;
    const { urls, announced } = await startWithDeadline(deadlineMs, () => service.start(settings, context));
    if (signal.aborted) return;
    if (announced !== undefined)
      announceProcess({ service: service.definition.service, ...announced }, context, process.env);
    log.info({ event: "service-ready", urls }, "ready");
    process.send?.({ type: "ready", urls });
  };
  const startResult = start();
  try {
    await Promise.race([startResult, stopped]);
    await stopped;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  // An interrupted startup may still fail, because its resources are being closed.
  startResult.catch((error: unknown) => log.debug({ err: error }, "startup was interrupted"));
  log.info({ event: "service-stopping", cause: String(signal.reason) }, "stopping");
  return undefined;
}

/** Settings errors include the service's name. */
function formatStartFailure(service: string, error: unknown): string {
  const lines = formatFailure(error);
  return (error instanceof SettingsError ? lines : lines.map((line) => `${service}: ${line}`)).join("\n");
}
