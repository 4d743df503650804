import { setTimeout as delay } from "node:timers/promises";
import { generousMs, until } from "#daemon/testing/until.ts";
import { quantile } from "../bench/measurement.ts";
import type { AttackedSidecar } from "./attacked-sidecar.ts";
import { allAttacks } from "./attacks/all-attacks.ts";
import type { Attack, Target } from "./attacks/attack.ts";
import { startCallers, type Callers, type Sample } from "./callers.ts";
import { startAttackers, startProcess, type SuiteProcess } from "./child-process.ts";
import { startWitness, type Sight } from "./witness.ts";

/**
 * Addresses of the measured callers: those that call the gateway, and those that call the node directly at the same time.
 */
const addresses = { gateway: "127.0.2", control: "127.0.4" } as const;
const warmUpMs = 3_000;
/** Pause between two attacks, during which connections are closed. */
const settleMs = 2_000;

/** Measurements of one phase: some seconds under one attack, or without one. */
export type Phase = Readonly<{
  attack: string;
  /** Connections that attackers opened, and responses that they received. */
  reached: number;
  requests: number;
  /**
   * 99th percentile of the latency of other callers' requests to the gateway; a failed request counts with its whole
   * duration.
   */
  p99Ms: number;
  /** Median, over the phase's seconds, of each second's 95th percentile. */
  secondP95Ms: number;
  worstMs: number;
  /** 99th percentile for callers of the node itself: the latency caused by the machine, not by Gatehouse. */
  controlP99Ms: number;
  /** Faults in responses to other callers. */
  failures: readonly string[];
  /** Messages of the page and the probe that did not appear before the attacks. */
  told: readonly string[];
  /** Whether the page reported that the gateway itself is slow. */
  isCalledSlow: boolean;
  memoryMiB: number;
}>;

/** Results of a run; `ends`: number of the sidecar's exits. */
export type AttackReport = Readonly<{ undisturbed: Phase; attacked: readonly Phase[]; peakMiB: number; ends: number }>;

/** Total seconds of all phases, and the names of the attacks to run; by default all. */
export type AttackOptions = Readonly<{ seconds: number; only?: readonly string[] | undefined }>;

/** Runs every attack on a sidecar, one after the other, while well-behaved callers use the sidecar and its page is polled. */
export async function attackSidecar(
  { seconds, only }: AttackOptions,
  start: (nodePort: number) => Promise<AttackedSidecar>,
  report: (phase: Phase) => void,
): Promise<AttackReport> {
  await using stack = new AsyncDisposableStack();
  const node = stack.use(startProcess("busy-node.main.ts"));
  const nodePort = Number(await node.told());
  const sidecar = stack.use(await start(nodePort));
  const attackers = stack.use(startAttackers());
  await until("the sidecar is ready", 60_000, () => fetch(`${sidecar.statusUrl}/readyz`).then(({ ok }) => ok));
  const target = { host: "127.0.0.1", port: sidecar.gatewayPort };
  const callers = stack.use(startCallers(target, addresses.gateway));
  const control = stack.use(startCallers({ host: "127.0.0.1", port: nodePort }, addresses.control));
  await delay(warmUpMs);
  const { sights } = stack.use(await startWitness(sidecar));
  const attacks = allAttacks.filter(({ name }) => only === undefined || only.includes(name));
  const phases = await runPhases({ attackers, target, callers, control, sights }, { attacks, seconds }, report);
  const { peakMiB } = await sidecar.memory().catch(() => ({ peakMiB: Number.NaN }));
  return { ...phases, peakMiB, ends: await sidecar.ends() };
}

/** Attackers, their target, and the measurements taken during the attack. */
export type Scene = Readonly<{
  attackers: SuiteProcess;
  target: Target;
  callers: Callers;
  control: Callers;
  sights: readonly Sight[];
}>;

/** Runs one phase without an attack and one per attack; together they take this many seconds. */
export async function runPhases(
  { attackers, target, callers, control, sights }: Scene,
  { attacks, seconds }: Readonly<{ attacks: readonly Attack[]; seconds: number }>,
  report: (phase: Phase) => void,
): Promise<Pick<AttackReport, "undisturbed" | "attacked">> {
  const phaseMs = (seconds * 1_000) / (attacks.length + 1);
  const ask = async (message: "reached" | Readonly<{ attack: string | undefined; target: Target }>) => {
    const told = attackers.told();
    attackers.child.send(message);
    return Number(await told);
  };
  /** Takes longer than planned only if some attackers, which run at the lowest priority, have not reached the target by then. */
  const phase = async (attack?: Attack): Promise<Phase> => {
    await ask({ attack: attack?.name, target });
    const fromMs = performance.now();
    await delay(phaseMs);
    const lastMs = performance.now() + generousMs;
    while ((await ask("reached")) < (attack?.attackers ?? 0) && performance.now() < lastMs) await delay(100);
    const toMs = performance.now();
    const made = buildPhase(attack?.name ?? "none", {
      reached: await ask({ attack: undefined, target }),
      callers: callers.between(fromMs, toMs),
      control: control.between(fromMs, toMs),
      sights: sights.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
    });
    report(made);
    await delay(settleMs);
    return made;
  };
  const undisturbed = await phase();
  const attacked: Phase[] = [];
  for (const attack of attacks) attacked.push(await phase(attack));
  return { undisturbed, attacked };
}

type Seen = Readonly<{
  reached: number;
  callers: readonly Sample[];
  control: readonly Sample[];
  sights: readonly Sight[];
}>;

function buildPhase(attack: string, { reached, callers, control, sights }: Seen): Phase {
  return {
    attack,
    reached,
    requests: callers.length,
    p99Ms: Math.round(quantileOf(callers, 0.99)),
    secondP95Ms: Math.round(quantile(computeP95OfSeconds(callers), 0.5)),
    worstMs: Math.round(Math.max(0, ...callers.map(({ tookMs }) => tookMs))),
    controlP99Ms: Math.round(quantileOf(control, 0.99)),
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

function computeP95OfSeconds(samples: readonly Sample[]): readonly number[] {
  const seconds = Map.groupBy(samples, ({ atMs }) => Math.floor(atMs / 1_000));
  return [...seconds.values()].map((second) => quantileOf(second, 0.95));
}

function quantileOf(samples: readonly Sample[], share: number): number {
  return quantile(
    samples.map(({ tookMs }) => tookMs),
    share,
  );
}
