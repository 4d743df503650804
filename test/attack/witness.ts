import { setTimeout as delay } from "node:timers/promises";
import type { AttackedSidecar } from "./attacked-sidecar.ts";

/** Time between two looks. */
const betweenMs = 500;
/** How long a look at the page may take. */
const answerTimeoutMs = 5_000;

/** What somebody who watches the page sees, and what a probe does. */
export type Sight = Readonly<{
  atMs: number;
  /**
   * Conditions that are not as they were before any attack, each with its reason and message, or why the page did not come. What the page
   * says of the sidecar itself is not one of them: it may be slow, or short of file descriptors.
   */
  changed: readonly string[];
  /** What `/readyz` answered other than 200. */
  notReady: string | undefined;
  memoryMiB: number;
}>;

/** Somebody who watches. Disposing of it ends that. */
export type Witness = AsyncDisposable & Readonly<{ sights: readonly Sight[] }>;

/** Conditions about the sidecar itself. */
const ofTheSidecar: ReadonlySet<string> = new Set(["GatewayResponsive", "FileDescriptorsLeft"]);

/** What is said of the calls themselves, whose number and fate the attack changes; that the node fails is not among it. */
const aboutCallers: ReadonlySet<string> = new Set([
  "CallsAnswered Answered",
  "CallsAnswered Shed",
  "CallsAnswered TooFewCalls",
]);

type Condition = Readonly<{ type: string; status: string; reason: string; message: string }>;

/** Watches the page, readiness and memory; what the page says at first is taken for the truth about the node, which does not change. */
export async function startWitness(sidecar: AttackedSidecar): Promise<Witness> {
  const sights: Sight[] = [];
  const stop = new AbortController();
  const before = await conditionsOf(sidecar);
  const watching = (async () => {
    while (!stop.signal.aborted) {
      const atMs = performance.now();
      const changed = await conditionsOf(sidecar).then(
        (now) => changes(before, now),
        (error: unknown) => [`the page did not come: ${String(error)}`],
      );
      const notReady = await readiness(sidecar).catch((error: unknown) => `readyz did not come: ${String(error)}`);
      const { nowMiB: memoryMiB } = await sidecar.memory().catch(() => ({ nowMiB: 0 }));
      if (!stop.signal.aborted) sights.push({ atMs, changed, notReady, memoryMiB });
      await delay(betweenMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  return {
    sights,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await watching;
    },
  };
}

async function conditionsOf({ statusUrl }: AttackedSidecar): Promise<readonly Condition[]> {
  const response = await fetch(`${statusUrl}/status`, { signal: AbortSignal.timeout(answerTimeoutMs) });
  return ((await response.json()) as { conditions: Condition[] }).conditions;
}

function changes(before: readonly Condition[], now: readonly Condition[]): readonly string[] {
  return now
    .filter(({ type, reason }) => !ofTheSidecar.has(type) && !aboutCallers.has(`${type} ${reason}`))
    .filter(({ type, reason }) => before.find((one) => one.type === type)?.reason !== reason)
    .map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);
}

async function readiness({ statusUrl }: AttackedSidecar): Promise<string | undefined> {
  const response = await fetch(`${statusUrl}/readyz`, { signal: AbortSignal.timeout(answerTimeoutMs) });
  const text = await response.text();
  return response.ok ? undefined : `${response.status} ${text.slice(0, 300)}`;
}
