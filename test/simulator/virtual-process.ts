import type { Pause } from "#daemon/time.ts";
import type { VirtualTime } from "./virtual-time.ts";

/**
 * A process that may be killed at each of its external calls: before the call takes effect, or before its response
 * arrives.
 */
export type VirtualProcess = Readonly<{
  name: string;
  isAlive: () => boolean;
  /** Rejects when the process is killed: its waiting clients lose the connection. */
  gone: Promise<never>;
  kill: (why: string) => void;
  /** Suspends it for a while, as SIGSTOP does. */
  suspend: (ms: number) => void;
  isSuspended: () => boolean;
  /** Resolves when it is running: immediately, or when its suspension is over. */
  resumed: () => Promise<void>;
  /**
   * Makes a call of this process; each leg takes up to `latencyMs`. A dead process's calls have neither an effect nor a
   * response.
   */
  call: <T>(what: string, latencyMs: number, effect: () => T | Promise<T>) => Promise<T>;
  pause: Pause;
}>;

/** The connection was lost because the other process was killed. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
}

export type ProcessOptions = Readonly<{
  name: string;
  time: VirtualTime;
  /** Rate of its timers, relative to true time. */
  clockRate: number;
  /** Returns the current probability that the process dies at a call, on each of its two legs. */
  deathRate: () => number;
  note: (step: string) => void;
  /** Called when the process has been killed. */
  onDeath: () => void;
}>;

/** Starts a process. Its memory is lost when it dies: its promises never settle. */
export function startVirtualProcess(options: ProcessOptions): VirtualProcess {
  const { name, time, clockRate, deathRate, note, onDeath } = options;
  let [isAlive, suspendedUntilMs] = [true, 0];
  const isSuspended = () => suspendedUntilMs >= time.nowMs();
  const resumed = async () => {
    while (suspendedUntilMs > time.nowMs()) await time.pause(suspendedUntilMs - time.nowMs());
  };
  const { promise: gone, reject } = Promise.withResolvers<never>();
  gone.catch(() => undefined);
  const kill = (why: string) => {
    if (!isAlive) return;
    isAlive = false;
    note(`${name} is killed ${why}`);
    reject(new ConnectionLostError(`${name} was killed`));
    onDeath();
  };
  /** Returns whether the process survives one leg of a call. */
  const pass = async (way: string, latencyMs: number): Promise<boolean> => {
    if (isAlive && time.chance(deathRate())) kill(way);
    if (isAlive && latencyMs > 0) await time.pause(time.random() * latencyMs);
    if (isSuspended()) await resumed();
    return isAlive;
  };
  return {
    name,
    isAlive: () => isAlive,
    gone,
    kill,
    suspend: (ms) => void (suspendedUntilMs = Math.max(suspendedUntilMs, time.nowMs() + Math.ceil(ms))),
    isSuspended,
    resumed,
    call: async (what, latencyMs, effect) => {
      if (!(await pass(`before ${what}`, latencyMs))) return neverSettle();
      const result = settle(effect);
      const ended = result instanceof Promise ? await result.then(toEnd, toFailure) : result;
      if (!(await pass(`after ${what}`, latencyMs))) return neverSettle();
      if ("error" in ended) throw ended.error;
      return ended.value;
    },
    pause: async (ms, signal) => {
      await time.pause(ms / clockRate, signal);
      if (isSuspended()) await resumed();
      if (!isAlive) await neverSettle();
    },
  };
}

type End<T> = Readonly<{ value: T } | { error: unknown }>;

const toEnd = <T>(value: T): End<T> => ({ value });
const toFailure = (error: unknown): End<never> => ({ error });

function settle<T>(effect: () => T | Promise<T>): End<T> | Promise<T> {
  try {
    const result = effect();
    return result instanceof Promise ? result : { value: result };
  } catch (error) {
    return { error };
  }
}

/** Creates a promise per waiter, because a shared one would keep all waiters in memory. */
const neverSettle = () => new Promise<never>(() => undefined);
