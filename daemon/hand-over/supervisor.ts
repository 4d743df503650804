import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStopSignal } from "../process/stop-signal.ts";
import { createBackoff, pause } from "../time.ts";
import { findUserStateDirectory } from "../files/user-state-directory.ts";
import { keepSettings, type KeptSettings } from "./kept-settings.ts";
import { waitForRelease, startServiceProcess, type HeldSockets, type ServiceProcess } from "./service-process.ts";
import {
  createSettling,
  listSettingsFiles,
  lookAtFiles,
  readSettingsSource,
  rememberSource,
  type SettingsSource,
} from "./settings-source.ts";

/** A service that is handed over, and the path of its settings file. */
export type SupervisedService = Readonly<{
  service: string;
  settingsPath: string;
  environment: NodeJS.ProcessEnv;
  /** Whether a process that has let go of what one alone may hold still does the rest of its work, and says what it does not do. */
  servesOn: boolean;
}>;

/** Time between two looks at the files. */
const lookEveryMs = 500;

/** Longer than any `shutdown.graceMs`, and than any request takes: what hangs beyond it would be there for ever. */
const leaveWithinMs = 660_000;

/** New processes that may be killed in a row before their settings count as refused. */
const triesMost = 3;

/** Backoff between attempts to replace a process that serves without what it has let go of. */
const tryAgain = { initialMs: 1_000, maxMs: 10_000 } as const;

/** Process in service, its settings and its sockets. */
type InForce = Readonly<{ process: ServiceProcess; source: SettingsSource; sockets: HeldSockets }>;

/**
 * Runs a service in another process, and hands it over to a new one whenever the settings file, or a file of a secret, changes. The order
 * is that of nginx, HAProxy and Envoy: the new process reads its settings; the old one lets go of what one alone may hold, and serves on;
 * the new one gets the very sockets that the old one listens on, and takes requests; then the old one stops listening, ends what it has
 * begun, and leaves. No connection is refused meanwhile, because the sockets are never closed. While one is leaving, no other is begun: there is memory
 * for two.
 *
 * Settings that can't be used change nothing, and the process in service reports them. Where they fail only after the old process has let go, a new
 * one with the old settings takes its place. Where the first process can't use what it finds, it starts by the settings that last served. Resolves with the exit status when the process in service ends, however it ends.
 */
export async function superviseService(supervised: SupervisedService): Promise<number> {
  const stopping = createStopSignal();
  const supervisor = new Supervisor(supervised, stopping);
  stopping.addEventListener("abort", () => supervisor.stop(), { once: true });
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
  readonly #kept: KeptSettings;
  /** Processes that have not been told to end. */
  readonly #staying = new Set<ServiceProcess>();
  readonly #leaving = new Map<ServiceProcess, Promise<void>>();
  #inForce: InForce | undefined;
  #tries = 0;
  #copies: string | undefined;

  constructor(supervised: SupervisedService, stopping: AbortSignal) {
    this.#supervised = supervised;
    this.#stopping = stopping;
    this.#files = listSettingsFiles(supervised.settingsPath, supervised.environment);
    this.#kept = keepSettings({
      ...supervised,
      userStateDirectory: findUserStateDirectory(supervised.environment),
      warn: (message) => void process.stderr.write(`${supervised.service}: ${message}\n`),
    });
  }

  async run(): Promise<number> {
    let look = await lookAtFiles(this.#files);
    let source = await readSettingsSource(this.#files);
    const { first, isServing } = await this.#begin(source);
    if (!isServing) return (await first.ended) ?? 1;
    process.send?.({ type: "ready", urls: first.urls() });
    const isSettled = createSettling(this.#files);
    for (;;) {
      const { process: serving } = this.#inForce ?? { process: first };
      const status = await Promise.race([serving.ended, pause(lookEveryMs)]);
      if (status !== undefined) return status ?? 1;
      const now = await lookAtFiles(this.#files);
      if (!isSettled(now) || (now === look && this.#tries === 0) || this.#leaving.size > 0) continue;
      look = now;
      const found = await readSettingsSource(this.#files);
      if (found.stamp === source.stamp && this.#tries === 0) continue;
      source = found;
      await this.#apply(found);
    }
  }

  /** Starts by what stands in the files; where its settings can't be used, by those that last served. */
  async #begin(source: SettingsSource): Promise<Readonly<{ first: ServiceProcess; isServing: boolean }>> {
    const first = this.#start(this.#supervised.settingsPath);
    if (await first.reached("prepared")) return { first, isServing: await this.#bring(first, source) };
    const wasKilled = (await first.ended) === null;
    const text = wasKilled || this.#stopping.aborted ? undefined : await this.#kept.recall();
    if (text === undefined || text === source.text) return { first, isServing: false };
    const back = this.#start(this.#kept.path);
    const isServing = (await back.reached("prepared")) && (await this.#bring(back, rememberSource(text)));
    if (!isServing) return { first, isServing };
    await this.#refuse(first);
    return { first: back, isServing };
  }

  /** Has all processes end soon. */
  stop(): void {
    for (const one of [...this.#staying, ...this.#leaving.keys()]) one.signal("SIGTERM");
  }

  passOn(signal: NodeJS.Signals): void {
    for (const one of this.#staying) one.signal(signal);
  }

  /** Waits until every process has ended. */
  async end(): Promise<void> {
    if (!this.#stopping.aborted) this.stop();
    for (const one of this.#staying) this.#expectEnd(one);
    await Promise.all(this.#leaving.values());
    if (this.#copies !== undefined) await rm(this.#copies, { recursive: true, force: true });
  }

  #start(settingsPath: string): ServiceProcess {
    const started = startServiceProcess(this.#supervised.service, settingsPath, this.#supervised.environment);
    this.#staying.add(started);
    void started.ended.then(() => this.#staying.delete(started));
    if (this.#stopping.aborted) started.signal("SIGTERM");
    return started;
  }

  /** Hands over to a process with these settings, unless they are those in force. */
  async #apply(source: SettingsSource): Promise<void> {
    const old = this.#inForce;
    if (old === undefined) return;
    if (source.stamp === old.source.stamp) {
      this.#tries = 0;
      return this.#report();
    }
    const next = this.#start(this.#supervised.settingsPath);
    if (!(await next.reached("prepared"))) return await this.#refuse(next);
    await waitForRelease(old.process);
    await this.#replace(old, next, source);
    old.process.send({ type: "leave" });
    this.#expectEnd(old.process);
  }

  /**
   * Has a process take the place of one that has let go: the new one, or where it can't, one with the old settings. If neither can, it is not the settings
   * but what both need, such as a database that is away: then both are tried again, ever more slowly, and the old one serves on.
   */
  async #replace(old: InForce, first: ServiceProcess, source: SettingsSource): Promise<void> {
    const backoff = createBackoff(tryAgain);
    let [next, theirs] = [first, source];
    for (let isAway = false; ; isAway = true) {
      // A process that is leaving gets no more messages.
      if ((await next.reached("prepared")) && (await this.#bring(next, theirs))) this.#tries = 0;
      if (this.#inForce !== old || this.#stopping.aborted) return;
      const back = this.#start(await this.#copyOf(old.source));
      const isBack = (await back.reached("prepared")) && (await this.#bring(back, old.source));
      if (isBack) {
        // What was away came back in between: nothing is known of the new settings yet.
        if (isAway) this.#tries = 1;
        else await this.#refuse(next);
        return;
      }
      if (!this.#supervised.servesOn || this.#stopping.aborted || !this.#staying.has(old.process)) {
        this.#inForce = { ...old, process: back };
        return;
      }
      this.#report(`neither a process with them nor one with the previous settings can start: ${next.lastWords()}`);
      await Promise.race([pause(backoff.nextMs(), this.#stopping), old.process.ended]);
      theirs = await readSettingsSource(this.#files);
      next = this.#start(this.#supervised.settingsPath);
    }
  }

  /** Lets a process start that has read its settings; whether it serves then. */
  async #bring(one: ServiceProcess, source: SettingsSource): Promise<boolean> {
    const held: HeldSockets = this.#inForce?.sockets ?? new Map();
    for (const [name, handles] of held) for (const handle of handles) one.send({ type: "socket", name }, handle);
    this.#report(undefined, { process: one, source });
    one.send({ type: "proceed" });
    const isServing = await one.reached("ready");
    const sockets = one.listensOn(held);
    const dropped = isServing
      ? [...held].filter(([name]) => !sockets.has(name))
      : [...sockets].filter(([name]) => !held.has(name));
    for (const [, handles] of dropped) for (const handle of handles) handle.close();
    if (!isServing) return false;
    this.#inForce = { process: one, source, sockets };
    one.send({ type: "serving" });
    await this.#kept.remember(source.text);
    return true;
  }

  /** Has the process in service say that what stands in the files now is not in force. */
  async #refuse(next: ServiceProcess): Promise<void> {
    const wasKilled = (await next.ended) === null;
    if (this.#stopping.aborted) return;
    this.#tries = wasKilled ? this.#tries + 1 : 0;
    if (wasKilled && this.#tries < triesMost) return;
    this.#tries = 0;
    const killed = "the process that was to serve by them was killed; look whether there is memory for two";
    this.#report(wasKilled ? killed : next.lastWords() || "the process that was to serve by them ended without a word");
  }

  #report(refused?: string, inForce: Pick<InForce, "process" | "source"> | undefined = this.#inForce): void {
    if (inForce === undefined) return;
    const file = { path: this.#supervised.settingsPath, sha256: inForce.source.sha256, refused };
    inForce.process.send({ type: "settings", file });
  }

  /** Waits for the end of a process that was told to end; one that does not is killed. */
  #expectEnd(one: ServiceProcess): void {
    if (!this.#staying.delete(one)) return;
    const late = setTimeout(() => one.signal("SIGKILL"), leaveWithinMs);
    const gone = one.ended.then(() => clearTimeout(late));
    this.#leaving.set(one, gone);
    void gone.then(() => this.#leaving.delete(one));
  }

  /**
   * Writes settings that their file no longer holds to another file, and returns its path. No secret is in it, because
   * none may stand in a settings file.
   */
  async #copyOf({ text }: SettingsSource): Promise<string> {
    this.#copies ??= await mkdtemp(join(tmpdir(), "gatehouse-settings-"));
    const path = join(this.#copies, "settings.json5");
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }
}
