import { setTimeout as delay } from "node:timers/promises";
import { until } from "#daemon/testing/until.ts";
import { quantile } from "../bench/measurement.ts";
import type { AttackedSidecar } from "./attacked-sidecar.ts";
import { allAttacks } from "./attacks/all-attacks.ts";
import type { Attack, Target } from "./attacks/attack.ts";
import { startCallers, type Callers, type Sample } from "./callers.ts";
import { startAttackers, startProcess, type SuiteProcess } from "./child-process.ts";
import { startWitness, type Sight } from "./witness.ts";

/** Addresses of the callers that are measured: of the gateway's, and of those that ask the node itself at the same time. */
const addresses = { gateway: "127.0.2", control: "127.0.4" } as const;
const warmUpMs = 3_000;
/** Time between two attacks, in which connections are closed. */
const settleMs = 2_000;

/** Measurements of one phase: some seconds under one attack, or under none. */
export type Phase = Readonly<{
  attack: string;
  /** Connections that attackers opened, and answers that they got. */
  reached: number;
  requests: number;
  /** 99th percentile of the time that other callers' requests to the gateway took; a failed one counts with all its time. */
  p99Ms: number;
  /** Median, over the phase's seconds, of the 95th percentile in each. */
  secondP95Ms: number;
  worstMs: number;
  /** 99th percentile for callers who ask the node itself: what the machine, and nothing of Gatehouse, does to a request. */
  controlP99Ms: number;
  /** Faults of answers to other callers. */
  failures: readonly string[];
  /** Messages of the page and the probe that they did not show before the attacks. */
  told: readonly string[];
  /** Whether the page said that the gateway itself is slow. */
  isCalledSlow: boolean;
  memoryMiB: number;
}>;

/** Results of a run; `ends` counts how often the sidecar ended. */
export type AttackReport = Readonly<{ undisturbed: Phase; attacked: readonly Phase[]; peakMiB: number; ends: number }>;

/** Seconds that all phases take together, and the attacks to make, by name; by default all. */
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

/** Attackers, what they attack, and those who measure it meanwhile. */
export type Scene = Readonly<{
  attackers: SuiteProcess;
  target: Target;
  callers: Callers;
  control: Callers;
  sights: readonly Sight[];
}>;

/** Makes a phase without an attack, and one under each; together they take so many seconds. */
export async function runPhases(
  { attackers, target, callers, control, sights }: Scene,
  { attacks, seconds }: Readonly<{ attacks: readonly Attack[]; seconds: number }>,
  report: (phase: Phase) => void,
): Promise<Pick<AttackReport, "undisturbed" | "attacked">> {
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
    const made = buildPhase(attack ?? "none", {
      reached: Number(await over),
      callers: callers.between(fromMs, toMs),
      control: control.between(fromMs, toMs),
      sights: sights.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
    });
    report(made);
    await delay(settleMs);
    return made;
  };
  const undisturbed = await phase(undefined);
  const attacked: Phase[] = [];
  for (const { name } of attacks) attacked.push(await phase(name));
  return { undisturbed, attacked };
}

type Seen = Readonly<{
  reached: number;
  callers: readonly Sample[];
  control: readonly Sample[];
  sights: readonly Sight[];
}>;

function buildPhase(attack: string, { reached, callers, control, sights }: Seen): Phase {
  const took = callers.map(({ tookMs }) => tookMs);
  return {
    attack,
    reached,
    requests: callers.length,
    p99Ms: Math.round(quantile(took, 0.99)),
    secondP95Ms: Math.round(quantile(computeP95OfSeconds(callers), 0.5)),
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

function computeP95OfSeconds(samples: readonly Sample[]): readonly number[] {
  const seconds = Map.groupBy(samples, ({ atMs }) => Math.floor(atMs / 1_000));
  return [...seconds.values()].map((second) =>
    quantile(
      second.map(({ tookMs }) => tookMs),
      0.95,
    ),
  );
}
