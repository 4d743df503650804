import { repeat } from "./adversary.ts";
import type { RunningFacilitator } from "./services.ts";
import type { Term, VirtualDatabase } from "./virtual-database.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import type { Callable, Service, World } from "./world.ts";

type Replica = Service<RunningFacilitator>;

/** Calls any of the running replicas. */
export function callAny(replicas: readonly Replica[], { time }: World): Callable<RunningFacilitator> {
  return { name: "any facilitator", live: () => time.pick(replicas.flatMap(({ live }) => live() ?? [])) };
}

/** Checks that no other replica considers itself the leader of a chain when a term begins there. */
export async function checkSoleLeader(
  { chain, number }: Term,
  by: VirtualProcess,
  replicas: readonly Replica[],
  { report }: World,
): Promise<void> {
  const running = replicas.flatMap(({ live }) => live() ?? []);
  // A suspended replica can't know yet that its term is over.
  const others = running.filter(({ process }) => process.name !== by.name && !process.isSuspended());
  const lead = await Promise.all(others.map(({ value }) => value.leads(chain)));
  for (const [index, { process }] of others.entries())
    if (lead[index] === true) report(`${by.name} begins term ${number} on ${chain} while ${process.name} settles`);
}

const stopMaxMs = 30_000;

/** Stops a facilitator as a signal would; with `yields`, after its successor has begun to settle. */
export async function stopFacilitator(
  { live, leave }: Replica,
  { time, report, note }: World,
  { yields = false } = {},
): Promise<void> {
  const { process } = live() ?? {};
  if (process === undefined) return;
  note(`${process.name} is stopped`);
  let hasStopped = false;
  time.after(stopMaxMs, () => {
    if (!hasStopped && process.isAlive()) report(`${process.name} does not stop`);
  });
  await leave(async ({ yieldTerm, stop }) => {
    await process.resumed();
    if (yields) await yieldTerm();
    if (yields) await process.pause(time.random() * 3_000);
    await stop();
  });
  hasStopped = true;
}

/** Suspends, partitions and stops replicas until the chaos phase ends. */
export function disturbReplicas(world: World, replicas: readonly Replica[], database: VirtualDatabase): void {
  const { time, note } = world;
  repeat(world, 0, 3_000, () => {
    const replica = time.pick(replicas);
    const process = replica?.live()?.process;
    if (replica === undefined || process === undefined) return;
    const ms = Math.ceil(time.random() * 9_000);
    const kind = time.pick(["suspend", "partition", "stop", "yield"] as const);
    note(`${kind} ${process.name}, perhaps for ${ms} ms`);
    if (kind === "suspend") process.suspend(ms);
    else if (kind === "partition") database.partition(process, ms);
    else void stopFacilitator(replica, world, { yields: kind === "yield" });
  });
}
