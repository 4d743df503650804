import { existsSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { paymentAttacks } from "./payments/hostile-payments.ts";
import { allAttacks } from "./attacks/all-attacks.ts";
import type { Target } from "./attacks/attack.ts";
import { peekReached, takeReached } from "./attacks/attacker.ts";

/**
 * Runs the attackers in their own process, so that they do not slow down the measured callers. Each message starts an attack, stops the
 * previous one, and returns how often that one reached the target; the message `reached` only returns this number. Exits with its parent.
 */
let running: Readonly<{ abort: AbortController; over: Promise<void> }> | undefined;

process.on("message", (message: "reached" | Readonly<{ attack: string | undefined; target: Target }>) => {
  if (message === "reached") process.send?.(peekReached());
  else void begin(message.attack, message.target);
});
process.once("disconnect", () => process.exit(0));

async function begin(name: string | undefined, target: Target): Promise<void> {
  running?.abort.abort();
  await running?.over;
  const before = takeReached();
  if (name !== undefined) giveWay();
  const attack = [...allAttacks, ...paymentAttacks].find((one) => one.name === name);
  const abort = new AbortController();
  running = attack === undefined ? undefined : { abort, over: attack.run(target, abort.signal) };
  process.send?.(before);
}

/** Lets every other process run first, because these attackers, unlike real ones, share the target's machine. */
function giveWay(): void {
  const priority = constants.priority.PRIORITY_BELOW_NORMAL;
  setPriority(priority);
  // If Linux groups processes by session, it compares the groups' priorities first (sched(7), "The autogroup feature").
  const group = "/proc/self/autogroup";
  if (existsSync(group)) writeFileSync(group, String(priority));
}
