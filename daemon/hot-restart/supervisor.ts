import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStopSignal } from "../process/stop-signal.ts";
import { createBackoff, pause } from "../time.ts";
import { waitForRelease, startServiceProcess, type HeldSockets, type ServiceProcess } from "./service-process.ts";
import {
  createStabilityCheck,
  listSettingsFiles,
  checkFiles,
  readSettingsSource,
  type SettingsSource,
} from "./settings-source.ts";

export type SupervisedService = Readonly<{
  service: string;
  settingsPath: string;
  environment: NodeJS.ProcessEnv;
  /** Whether a process that has released its exclusive resources continues its remaining work, and reports what it can no longer do. */
  keepsServing: boolean;
}>;

const checkIntervalMs = 500;

/** Longer than any `shutdown.graceMs` and any request: a process that takes longer hangs forever. */
const leaveWithinMs = 660_000;

/** Max consecutive kills of new processes before their settings are rejected. */
const triesMax = 3;

/** Backoff between attempts to replace a process that serves without the resources it released. */
const retryBackoff = { initialMs: 1_000, maxMs: 10_000 } as const;

type InForce = Readonly<{ process: ServiceProcess; source: SettingsSource; sockets: HeldSockets }>;

/**
 * Runs a service in a child process, and hot-restarts it whenever the settings file or a secret file changes. The order is the same as in
 * nginx, HAProxy and Envoy: the new process reads its settings; the old one releases its exclusive resources and keeps serving; the new one
 * inherits the old one's listening sockets and accepts requests; then the old one stops listening, drains and exits. No connection is
 * rejected, because the sockets are never closed. While a process drains, no other process starts: memory is sized for two.
 *
 * Invalid settings change nothing, and the serving process reports them. If the new settings fail only after the old process has released
 * its resources, a new process with the old settings replaces it. Resolves to the exit status when the serving process exits for any reason.
 */
export async function superviseService(supervised: SupervisedService): Promise<number> {
  const stopSignal = createStopSignal();
  const supervisor = new Supervisor(supervised, stopSignal);
  stopSignal.addEventListener("abort", () => supervisor.stop(), { once: true });
  process.on("SIGUSR2", () => supervisor.passOn("SIGUSR2"));
  try {
    return await supervisor.run();
  } finally {
    await supervisor.end();
  }
}

class Supervisor {
  readonly #supervised: SupervisedService;
  readonly #files: readonly string[];
  readonly #stopping: AbortSignal;
  /** Processes that have not been told to exit. */
  readonly #staying = new Set<ServiceProcess>();
  readonly #leaving = new Map<ServiceProcess, Promise<void>>();
  #inForce: InForce | undefined;
  #tries = 0;
  #copies: string | undefined;

  constructor(supervised: SupervisedService, stopSignal: AbortSignal) {
    this.#supervised = supervised;
    this.#stopping = stopSignal;
    this.#files = listSettingsFiles(supervised.settingsPath, supervised.environment);
  }

  async run(): Promise<number> {
    let check = await checkFiles(this.#files);
    let source = await readSettingsSource(this.#files);
    const first = this.#start(this.#supervised.settingsPath);
    if (!(await first.reached("prepared")) || !(await this.#startNext(first, source))) return (await first.ended) ?? 1;
    process.send?.({ type: "ready", urls: first.urls() });
    const isSettled = createStabilityCheck(this.#files);
    for (;;) {
      const { process: servingProcess } = this.#inForce ?? { process: first };
      const status = await Promise.race([servingProcess.ended, pause(checkIntervalMs)]);
      if (status !== undefined) return status ?? 1;
      const now = await checkFiles(this.#files);
      if (!isSettled(now) || (now === check && this.#tries === 0) || this.#leaving.size > 0) continue;
      check = now;
      const found = await readSettingsSource(this.#files);
      if (found.stamp === source.stamp && this.#tries === 0) continue;
      source = found;
      await this.#apply(found);
    }
  }

  stop(): void {
    for (const one of [...this.#staying, ...this.#leaving.keys()]) one.signal("SIGTERM");
  }

  passOn(signal: NodeJS.Signals): void {
    for (const one of this.#staying) one.signal(signal);
  }

  async end(): Promise<void> {
    if (!this.#stopping.aborted) this.stop();
    for (const one of this.#staying) this.#expectEnd(one);
    await Promise.all(this.#leaving.values());
    if (this.#copies !== undefined) await rm(this.#copies, { recursive: true, force: true });
  }

  #start(settingsPath: string): ServiceProcess {
    const newProcess = startServiceProcess(this.#supervised.service, settingsPath, this.#supervised.environment);
    this.#staying.add(newProcess);
    void newProcess.ended.then(() => this.#staying.delete(newProcess));
    if (this.#stopping.aborted) newProcess.signal("SIGTERM");
    return newProcess;
  }

  /** Hot-restarts the service with these settings, unless they are active already. */
  async #apply(source: SettingsSource): Promise<void> {
    const old = this.#inForce;
    if (old === undefined) return;
    if (source.stamp === old.source.stamp) {
      this.#tries = 0;
      return this.#report();
    }
    const next = this.#start(this.#supervised.settingsPath);
    if (!(await next.reached("prepared"))) return await this.#reject(next);
    await waitForRelease(old.process);
    await this.#replace(old, next, source);
    old.process.send({ type: "leave" });
    this.#expectEnd(old.process);
  }

  /**
   * Replaces a process that has released its resources with the new one or, if that fails, with one that has the old settings.
   * If both fail, the cause is not the settings but a shared dependency, such as an unreachable database: both are retried with backoff,
   * and the old process keeps serving.
   */
  async #replace(old: InForce, first: ServiceProcess, source: SettingsSource): Promise<void> {
    const backoff = createBackoff(retryBackoff);
    let [next, otherSource] = [first, source];
    for (let isMissing = false; ; isMissing = true) {
      // A draining process receives no more messages.
      if ((await next.reached("prepared")) && (await this.#startNext(next, otherSource))) this.#tries = 0;
      if (this.#inForce !== old || this.#stopping.aborted) return;
      const back = this.#start(await this.#copyOf(old.source));
      const hasRecovered = (await back.reached("prepared")) && (await this.#startNext(back, old.source));
      if (hasRecovered) {
        // The dependency recovered between the two attempts: the new settings are still untested.
        if (isMissing) this.#tries = 1;
        else await this.#reject(next);
        return;
      }
      if (!this.#supervised.keepsServing || this.#stopping.aborted || !this.#staying.has(old.process)) {
        this.#inForce = { ...old, process: back };
        return;
      }
      this.#report(`no process can start, either with the new settings or with the previous ones: ${next.lastWords()}`);
      await Promise.race([pause(backoff.nextMs(), this.#stopping), old.process.ended]);
      otherSource = await readSettingsSource(this.#files);
      next = this.#start(this.#supervised.settingsPath);
    }
  }

  /** Starts serving with a process that has read its settings; returns whether it succeeds. */
  async #startNext(one: ServiceProcess, source: SettingsSource): Promise<boolean> {
    const held: HeldSockets = this.#inForce?.sockets ?? new Map();
    for (const [name, handles] of held) for (const handle of handles) one.send({ type: "socket", name }, handle);
    this.#report(undefined, { process: one, source });
    one.send({ type: "proceed" });
    const isServing = await one.reached("ready");
    const sockets = one.listensOn(held);
    const droppedReason = isServing
      ? [...held].filter(([name]) => !sockets.has(name))
      : [...sockets].filter(([name]) => !held.has(name));
    for (const [, handles] of droppedReason) for (const handle of handles) handle.close();
    if (!isServing) return false;
    this.#inForce = { process: one, source, sockets };
    one.send({ type: "serving" });
    return true;
  }

  /** Makes the serving process report that the current files are not active. */
  async #reject(next: ServiceProcess): Promise<void> {
    const wasKilled = (await next.ended) === null;
    if (this.#stopping.aborted) return;
    this.#tries = wasKilled ? this.#tries + 1 : 0;
    if (wasKilled && this.#tries < triesMax) return;
    this.#tries = 0;
    const killedReason = "the new process was killed; check that there is enough memory for two processes";
    this.#report(wasKilled ? killedReason : next.lastWords() || "the new process exited without a message");
  }

  #report(rejected?: string, inForce: Pick<InForce, "process" | "source"> | undefined = this.#inForce): void {
    if (inForce === undefined) return;
    const file = { path: this.#supervised.settingsPath, sha256: inForce.source.sha256, rejected };
    inForce.process.send({ type: "settings", file });
  }

  /** Waits for a process that was told to exit; kills it after a timeout. */
  #expectEnd(one: ServiceProcess): void {
    if (!this.#staying.delete(one)) return;
    const late = setTimeout(() => one.signal("SIGKILL"), leaveWithinMs);
    const gone = one.ended.then(() => clearTimeout(late));
    this.#leaving.set(one, gone);
    void gone.then(() => this.#leaving.delete(one));
  }

  /** Writes settings that are no longer in their own file to another one, and returns its path. Settings files contain no secret. */
  async #copyOf({ text }: SettingsSource): Promise<string> {
    this.#copies ??= await mkdtemp(join(tmpdir(), "gatehouse-settings-"));
    const path = join(this.#copies, "settings.json5");
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }
}
