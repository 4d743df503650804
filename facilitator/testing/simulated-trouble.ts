import type { Scheduler } from "./scheduler.ts";
import type { SimulatedChain } from "./simulated-chain.ts";
import type { SimulatedReplica } from "./simulated-replica.ts";

/** Targets of faults: the running replicas, by name, and the chain. */
export type Trouble = Readonly<{
  scheduler: Scheduler;
  replicas: Map<string, SimulatedReplica>;
  start: (name: string) => void;
  chain: SimulatedChain;
  isUnrest: () => boolean;
}>;

/** Kills, stops, freezes and partitions replicas, and makes the chain's nodes drop transactions, during the chaos phase. */
export async function causeTrouble({ scheduler, replicas, start, chain, isUnrest }: Trouble): Promise<void> {
  const { random, pick, nowMs } = scheduler;
  const pause = scheduler.pauseOf(scheduler.actor("trouble"));
  const startAgain = async (name: string) => {
    await pause(random() * 4_000);
    start(name);
  };
  const inProgress: (Promise<void> | undefined)[] = [];
  while (isUnrest()) {
    await pause(random() * 3_000);
    const [name, replica] = pick([...replicas] as [[string, SimulatedReplica], ...[string, SimulatedReplica][]]);
    const untilMs = nowMs() + random() * 9_000;
    const kill = async () => {
      replicas.delete(name);
      replica.kill();
      await startAgain(name);
    };
    const stop = async () => {
      replicas.delete(name);
      await replica.stop();
      await startAgain(name);
    };
    const troubles = [
      kill,
      stop,
      async () => void (replica.process.stoppedUntilMs = untilMs),
      async () => void (replica.link.stoppedUntilMs = untilMs),
      async () => chain.forgetPool(),
      async () => {
        chain.setPoor(true);
        await pause(random() * 2_000);
        chain.setPoor(false);
      },
    ] as const;
    // Keep the last replica, so that there is one to call.
    const index = Math.floor(random() * troubles.length);
    if (index > 1 || replicas.size > 1) inProgress.push(troubles[index]?.());
  }
  await Promise.all(inProgress);
  chain.setPoor(false);
}
