import { ConnectionLostError, startVirtualProcess, type VirtualProcess } from "./virtual-process.ts";
import { createVirtualTime, type VirtualTime } from "./virtual-time.ts";
import { startMs } from "./wallets.ts";

/** Properties of a run, determined by its seed. */
export type Weather = Readonly<{
  confirmations: number;
  /** Max number of blocks that a reorg replaces: fewer than the confirmations of a settlement. */
  reorgDepthMax: number;
  deathRate: number;
  /** Whether a killed process may lose unflushed writes. */
  losesPower: boolean;
  diskLatencyMs: number;
  diskFaultRate: number;
  networkFaultRate: number;
  node: Readonly<Record<"unreachable" | "unanswered" | "failing" | "lagging" | "hiding" | "forgetting", number>>;
  hasFeeSpikes: boolean;
  /** Whether many buyers buy concurrently, so that payments share transactions. */
  isCrowded: boolean;
  /** Chains of the facilitator, and accounts that settle. */
  chains: number;
  signers: number;
  /** Facilitators: one with a file for its ledger, or several that share a database. */
  replicas: number;
  /** Whether accounts lack gas for a while. */
  hasPoorSigners: boolean;
  /** Whether a third party sends transactions with the signers' keys. */
  hasOperator: boolean;
  /** A third party settles copies of pending payments, cancels authorizations, and moves a buyer's funds away. */
  hasAdversary: boolean;
  /** Whether contract wallets buy, and whether they toggle their verdict on signatures. */
  contractWallets: "none" | "steady" | "fickle";
  /** Whether the resource server also sells through channels. */
  hasMembers: boolean;
  /** How long the resource server retains channels that have no charges left to claim. */
  channelRetentionMs: number;
  /** Whether reorgs may replace blocks whose transactions had their confirmations. */
  hasDeepReorgs: boolean;
  /** Whether the token's transfers succeed for a while without effect. */
  hasSilentToken: boolean;
  /** The facilitator's caller: separate sellers, or a resource server, with the facilitator in its process or in another. */
  seller: "direct" | "in-process" | "remote";
}>;

/** Shared parts of one run. */
export type World = Readonly<{
  time: VirtualTime;
  weather: Weather;
  /** Whether faults are injected: killed processes and failed calls. False after a while. */
  isUnrest: () => boolean;
  note: (step: string) => void;
  /** Reports a violated invariant. */
  report: (problem: string) => void;
  crashes: () => number;
  countCrash: () => void;
}>;

export type RunRecord = Readonly<{ steps: readonly string[]; problems: readonly string[] }>;

/** The chaos phase ends after this many crashes, or at this time. */
const crashesMax = 120;
const unrestMs = 120_000;

export function createWorld(seed: number): World & RunRecord {
  const time = createVirtualTime(seed, startMs);
  const drawn = { ...drawWeather(time), ...chooseBySeed(seed) };
  const isApart = drawn.replicas > 1 && drawn.seller === "in-process";
  const weather: Weather = {
    ...drawn,
    seller: isApart ? "remote" : drawn.seller,
    hasAdversary: drawn.hasAdversary && !drawn.hasDeepReorgs,
    node: { ...drawn.node, hiding: seed % 7 === 0 ? 0.2 : 0 },
  };
  const steps: string[] = [];
  const problems: string[] = [];
  let crashes = 0;
  const stamp = (text: string) => `${String(Math.round(time.nowMs() - startMs)).padStart(7)} ms  ${text}`;
  return {
    time,
    weather,
    isUnrest: () => crashes < crashesMax && time.nowMs() < startMs + unrestMs,
    note: (step) => void steps.push(stamp(step)),
    report: (problem) => {
      problems.push(problem);
      steps.push(stamp(`BROKEN: ${problem}`));
    },
    crashes: () => crashes,
    countCrash: () => void (crashes += 1),
    steps,
    problems,
  };
}

/** Interval, in seeds, of the runs that have replicas. */
export const replicasEvery = 5;

/** Chooses by the seed alone, so that a new option does not change other seeds' runs. */
function chooseBySeed(
  seed: number,
): Pick<
  Weather,
  "contractWallets" | "hasMembers" | "replicas" | "channelRetentionMs" | "hasDeepReorgs" | "hasSilentToken"
> {
  const contractWallets = (["none", "none", "steady", "fickle"] as const)[seed % 4] ?? "none";
  const replicas = seed % replicasEvery === 0 ? 2 + ((seed / replicasEvery) % 3) : 1;
  const channelRetentionMs = seed % 9 === 0 ? 10_000 : 86_400_000;
  const hasDeepReorgs = seed % 11 === 0;
  return {
    contractWallets,
    hasMembers: seed % 3 === 0 && !hasDeepReorgs,
    replicas,
    channelRetentionMs,
    hasDeepReorgs,
    hasSilentToken: seed % 13 === 0,
  };
}

function drawWeather({ pick, chance }: VirtualTime): Omit<Weather, keyof ReturnType<typeof chooseBySeed>> {
  const rate = (...rates: readonly number[]) => pick(rates) ?? 0;
  const confirmations = rate(1, 1, 2, 4);
  const isCrowded = chance(0.2);
  return {
    confirmations,
    reorgDepthMax: chance(0.7) ? confirmations - 1 : 0,
    deathRate: isCrowded ? rate(0.001, 0.004, 0.01) : rate(0.01, 0.02, 0.04, 0.08),
    losesPower: chance(0.7),
    diskLatencyMs: isCrowded ? rate(0, 20) : rate(0, 0, 20, 300, 2_500),
    diskFaultRate: rate(0, 0, 0.02),
    networkFaultRate: rate(0, 0.05, 0.2),
    node: {
      unreachable: rate(0, 0, 0.05),
      unanswered: rate(0, 0, 0.05),
      failing: rate(0, 0, 0.05),
      lagging: rate(0, 0, 0.3),
      hiding: 0,
      forgetting: rate(0, 0, 0.1),
    },
    hasFeeSpikes: chance(0.3),
    isCrowded,
    chains: isCrowded ? 1 : rate(1, 1, 2),
    signers: isCrowded ? rate(1, 1, 1, 2) : rate(1, 1, 2, 3),
    hasPoorSigners: chance(0.2),
    hasOperator: chance(0.15),
    hasAdversary: chance(0.3),
    seller: pick(["direct", "in-process", "remote"] as const) ?? "direct",
  };
}

/** A service that is restarted whenever its process dies. */
export type Service<Live> = Readonly<{
  name: string;
  live: () => Readonly<{ process: VirtualProcess; value: Live }> | undefined;
  /** Takes its process out of service, and kills it once `end` resolves. */
  leave: (end: (value: Live) => Promise<void>) => Promise<void>;
}>;

/** Max drift of a replica's clock; see `leaseTrustMs` for what is allowed. */
const clockDrift = 0.1;

/** Service as its clients see it. */
export type Callable<Live> = Pick<Service<Live>, "name" | "live">;

/** Keeps a service running. A failed start ends its process, like the program's. */
export function keepRunning<Live>(
  name: string,
  { time, weather, isUnrest, note, countCrash }: World,
  start: (process: VirtualProcess) => Promise<Live>,
): Service<Live> {
  let live: Readonly<{ process: VirtualProcess; value: Live }> | undefined;
  let count = 0;
  const begin = async (process: VirtualProcess) => {
    try {
      const value = await start(process);
      if (process.isAlive()) live = { process, value };
    } catch (error) {
      process.kill(`because it can't start: ${String(error)}`);
    }
  };
  const run = () => {
    const process = startVirtualProcess({
      name: `${name} ${(count += 1)}`,
      time,
      note,
      clockRate: weather.replicas > 1 ? time.between(1 - clockDrift, 1 + clockDrift) : 1,
      deathRate: () => (isUnrest() ? weather.deathRate : 0),
      onDeath: () => {
        live = undefined;
        countCrash();
        time.after(time.between(20, time.chance(0.2) ? 4_000 : 600), run);
      },
    });
    void begin(process);
  };
  run();
  return {
    name,
    live: () => live,
    leave: async (end) => {
      const leaving = live;
      if (leaving === undefined) return;
      live = undefined;
      await Promise.race([end(leaving.value), leaving.process.gone.catch(() => undefined)]);
      leaving.process.kill("when it has stopped");
    },
  };
}

/** Max time of a response: the receipt timeout, suspensions, partitions, and disk accesses before and after. */
const responseMaxMs = ({ diskLatencyMs }: Weather) => 60_000 + 20 * diskLatencyMs;

/** The request did not reach the service. */
export class NotReachedError extends Error {
  override readonly name = "NotReachedError";
}

/**
 * Sends a request to a service.
 *
 * @throws {NotReachedError} if the service is down; nothing was done then.
 * @throws {ConnectionLostError} if the response is lost.
 */
export async function request<Live, T>(
  { name, live }: Callable<Live>,
  { time, weather, isUnrest, report }: World,
  work: (value: Live) => Promise<T>,
): Promise<T> {
  const isFaulty = () => isUnrest() && time.chance(weather.networkFaultRate);
  await time.pause(time.random() * 20);
  const found = live();
  if (found === undefined || isFaulty()) throw new NotReachedError(`${name} is not reached`);
  const startedMs = time.nowMs();
  const working = found.process.resumed().then(() => work(found.value));
  const ended = () => {
    const tookMs = time.nowMs() - startedMs;
    if (tookMs > responseMaxMs(weather)) report(`${name} responds after ${tookMs} ms`);
  };
  const result = await Promise.race([working, found.process.gone]).finally(ended);
  await time.pause(time.random() * 20);
  if (isFaulty()) throw new ConnectionLostError(`the response of ${name} is lost`);
  return result;
}
