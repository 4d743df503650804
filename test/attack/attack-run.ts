import { setTimeout as delay } from "node:timers/promises";
import { until } from "#daemon/testing/until.ts";
import { quantile } from "../bench/measurement.ts";
import type { AttackedSidecar } from "./attacked-sidecar.ts";
import { allAttacks } from "./attacks/all-attacks.ts";
import { startCallers, type Sample } from "./callers.ts";
import { startProcess } from "./child-process.ts";
import { startWitness, type Sight } from "./witness.ts";

/** Addresses of the callers that are measured: of the gateway's, and of those that ask the node itself at the same time. */
const addresses = { gateway: "127.0.2", control: "127.0.4" } as const;
const warmUpMs = 3_000;
/** Time between two attacks, in which connections are closed. */
const settleMs = 2_000;

/** What came of a time with an attack, or without one. */
export type Phase = Readonly<{
  attack: string;
  /** How often attackers reached the gateway: connections opened, or answers. */
  reached: number;
  requests: number;
  /** What other callers' requests to the gateway took, 99 of 100 at most; of those that failed, all their time. */
  p99Ms: number;
  /** 95 of 100 requests took so long at most in the middle one of the phase's seconds, the seconds sorted by just that. */
  secondP95Ms: number;
  worstMs: number;
  /** The same of callers who ask the node itself: what the machine, and nothing of Gatehouse, does to a request. */
  controlP99Ms: number;
  /** What was wrong with answers to other callers. */
  failures: readonly string[];
  /** What the page and the probe said that they did not say before. */
  told: readonly string[];
  /** Whether the page said that the gateway itself is slow. */
  isCalledSlow: boolean;
  memoryMiB: number;
}>;

/** What came of it all. */
export type AttackReport = Readonly<{ undisturbed: Phase; attacked: readonly Phase[]; peakMiB: number; ends: number }>;

/** How long all of it takes, and which attacks are made; by default all. */
export type AttackOptions = Readonly<{ seconds: number; only?: readonly string[] | undefined }>;

/** Attacks a sidecar in every way, one after the other, while well-behaved callers use it and somebody watches its page. */
export async function attackSidecar(
  { seconds, only }: AttackOptions,
  start: (nodePort: number) => Promise<AttackedSidecar>,
  report: (phase: Phase) => void,
): Promise<AttackReport> {
  await using stack = new AsyncDisposableStack();
  const node = stack.use(startProcess("busy-node.main.ts"));
  const nodePort = Number(await node.told());
  const sidecar = stack.use(await start(nodePort));
  const attackers = stack.use(startProcess("attackers.main.ts"));
  await until("the sidecar is ready", 60_000, () => fetch(`${sidecar.statusUrl}/readyz`).then(({ ok }) => ok));
  const target = { host: "127.0.0.1", port: sidecar.gatewayPort };
  const callers = stack.use(startCallers(target, addresses.gateway));
  const control = stack.use(startCallers({ host: "127.0.0.1", port: nodePort }, addresses.control));
  await delay(warmUpMs);
  const witness = stack.use(await startWitness(sidecar));
  const attacks = allAttacks.filter(({ name }) => only === undefined || only.includes(name));
  const phaseMs = (seconds * 1_000) / (attacks.length + 1);
  const phase = async (attack: string | undefined): Promise<Phase> => {
    const begun = attackers.told();
    attackers.child.send({ attack, target });
    await begun;
    const fromMs = performance.now();
    await delay(phaseMs);
    const toMs = performance.now();
    const over = attackers.told();
    attackers.child.send({ attack: undefined, target });
    const made = phaseOf(attack ?? "none", {
      reached: Number(await over),
      callers: callers.between(fromMs, toMs),
      control: control.between(fromMs, toMs),
      sights: witness.sights.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
    });
    report(made);
    await delay(settleMs);
    return made;
  };
  const undisturbed = await phase(undefined);
  const attacked: Phase[] = [];
  for (const { name } of attacks) attacked.push(await phase(name));
  const { peakMiB } = await sidecar.memory().catch(() => ({ peakMiB: Number.NaN }));
  return { undisturbed, attacked, peakMiB, ends: await sidecar.ends() };
}

type Seen = Readonly<{
  reached: number;
  callers: readonly Sample[];
  control: readonly Sample[];
  sights: readonly Sight[];
}>;

function phaseOf(attack: string, { reached, callers, control, sights }: Seen): Phase {
  const took = callers.map(({ tookMs }) => tookMs);
  return {
    attack,
    reached,
    requests: callers.length,
    p99Ms: Math.round(quantile(took, 0.99)),
    secondP95Ms: Math.round(quantile(p95OfSeconds(callers), 0.5)),
    worstMs: Math.round(Math.max(0, ...took)),
    controlP99Ms: Math.round(
      quantile(
        control.map(({ tookMs }) => tookMs),
        0.99,
      ),
    ),
    failures: callers.flatMap(({ failure }) => failure ?? []),
    told: [
      ...new Set(
        sights.flatMap(({ changed, notReady }) => (notReady === undefined ? changed : [...changed, notReady])),
      ),
    ],
    isCalledSlow: sights.some((sight) => sight.isCalledSlow),
    memoryMiB: Math.max(0, ...sights.map(({ memoryMiB }) => memoryMiB)),
  };
}

function p95OfSeconds(samples: readonly Sample[]): readonly number[] {
  const seconds = Map.groupBy(samples, ({ atMs }) => Math.floor(atMs / 1_000));
  return [...seconds.values()].map((second) =>
    quantile(
      second.map(({ tookMs }) => tookMs),
      0.95,
    ),
  );
}
