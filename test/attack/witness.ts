import { setTimeout as delay } from "node:timers/promises";
import type { AttackedSidecar } from "./attacked-sidecar.ts";

const betweenMs = 500;
const answerTimeoutMs = 5_000;

/** One reading of the page and of the probe. */
export type Sight = Readonly<{
  atMs: number;
  /**
   * Conditions that have changed since before the attacks, each with its reason and message, or why the page could not be read. The page's
   * findings about the sidecar itself are excluded: it may be slow, or short of file descriptors.
   */
  changed: readonly string[];
  /** Whether the page reports that the gateway itself is slow. */
  isCalledSlow: boolean;
  /** A response of `/readyz` other than 200, or why there was none. */
  notReady: string | undefined;
  memoryMiB: number;
}>;

/** A running monitor, stopped on disposal. */
export type Witness = AsyncDisposable & Readonly<{ sights: readonly Sight[] }>;

/** Conditions about the sidecar itself. */
const ofTheSidecar: ReadonlySet<string> = new Set(["GatewayResponsive", "ConnectionsAvailable"]);

/** Conditions about the calls, each with its reason: an attack changes the calls' number and outcome. A failing node is not among them. */
const aboutCallers: ReadonlySet<string> = new Set([
  "CallsSucceeding Succeeding",
  "CallsSucceeding Overloaded",
  "CallsSucceeding TooFewCalls",
]);

type Condition = Readonly<{ type: string; status: string; reason: string; message: string }>;

type Page = Readonly<{ verdict: { level: string }; headline: { cause: string }; conditions: readonly Condition[] }>;

/** Monitors the page, readiness and memory. The first page is the reference, because the node itself does not change. */
export async function startWitness(sidecar: AttackedSidecar): Promise<Witness> {
  const before = await lookAt(sidecar);
  return watchServices({ memory: sidecar.memory, unready: () => checkReadiness(sidecar) }, async () => {
    const now = await lookAt(sidecar).catch((error: unknown) => `the page can't be read: ${String(error)}`);
    const changed = typeof now === "string" ? [now] : [...listChanges(before, now), ...deriveVerdict(before, now)];
    return { changed, isCalledSlow: typeof now !== "string" && now.conditions.some(isSlow) };
  });
}

/** Monitors memory and readiness, and what `look` returns. */
export function watchServices(
  { memory, unready }: Pick<AttackedSidecar, "memory"> & Readonly<{ unready: () => Promise<string | undefined> }>,
  look: () => Promise<Pick<Sight, "changed" | "isCalledSlow">>,
): Witness {
  const sights: Sight[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    while (!stop.signal.aborted) {
      const atMs = performance.now();
      const seen = await look();
      const notReady = await unready().catch((error: unknown) => `/readyz can't be read: ${String(error)}`);
      const { nowMiB: memoryMiB } = await memory().catch(() => ({ nowMiB: 0 }));
      if (!stop.signal.aborted) sights.push({ atMs, ...seen, notReady, memoryMiB });
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

async function lookAt({ statusUrl }: AttackedSidecar): Promise<Page> {
  const response = await fetch(`${statusUrl}/status`, { signal: AbortSignal.timeout(answerTimeoutMs) });
  return (await response.json()) as Page;
}

const isSlow = ({ type, status }: Condition) => type === "GatewayResponsive" && status === "False";

/** Returns a changed verdict, unless it is `degraded`: a degraded node still serves. */
function deriveVerdict({ verdict: { level } }: Page, { verdict, headline }: Page): readonly string[] {
  return verdict.level === level || verdict.level === "degraded" ? [] : [`verdict ${verdict.level}: ${headline.cause}`];
}

function listChanges({ conditions: before }: Page, { conditions: now }: Page): readonly string[] {
  return now
    .filter(({ type, reason }) => !ofTheSidecar.has(type) && !aboutCallers.has(`${type} ${reason}`))
    .filter(({ type, reason }) => before.find((one) => one.type === type)?.reason !== reason)
    .map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);
}

async function checkReadiness({ statusUrl }: AttackedSidecar): Promise<string | undefined> {
  const response = await fetch(`${statusUrl}/readyz`, { signal: AbortSignal.timeout(answerTimeoutMs) });
  const text = await response.text();
  return response.ok ? undefined : `${response.status} ${text.slice(0, 300)}`;
}
