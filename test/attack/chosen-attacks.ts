import { seed, takeSlice } from "../support/run-size.ts";
import { allAttacks } from "./attacks/all-attacks.ts";

import { paymentAttacks } from "./payments/hostile-payments.ts";
import type { Attack } from "./attacks/attack.ts";

/** `npm run test:docker` runs one in this many attacks. */
const share = 3;

/**
 * The names of this run's attacks: all of them in `npm run test:attack`, otherwise a third, chosen by the seed, plus all at once.
 */
export const chosenAttacks = listNames([...takeSlice(allAttacks.slice(0, -1), share), ...allAttacks.slice(-1)]);

/** The names of this run's attacks on the payment services: all of them in `npm run test:attack`, otherwise a third. */
export const chosenPaymentAttacks = listNames(takeSlice(paymentAttacks, share));

/** Formats the line that reports a run's choice. */
export function formatChoice(names: readonly string[]): string {
  return `attacks: ${names.join(", ")} (to repeat: GATEHOUSE_FUZZ_SEED=${seed})`;
}

function listNames(attacks: readonly Attack[]): readonly string[] {
  return attacks.map(({ name }) => name);
}
