import { seed, takeSlice } from "../support/run-size.ts";
import { allAttacks } from "./attacks/all-attacks.ts";

import { paymentAttacks } from "./payments/hostile-payments.ts";
import type { Attack } from "./attacks/attack.ts";

/** `npm run test:docker` runs one in this many attacks. */
const share = 3;

/**
 * The names of this run's attacks: all of them in `npm run test:attack`, else a third, chosen by the seed, and all at
 * once.
 */
export const chosenAttacks = listNames([...takeSlice(allAttacks.slice(0, -1), share), ...allAttacks.slice(-1)]);

/** The names of this run's attacks on the payment services: all of them in `npm run test:attack`, else a third. */
export const chosenPaymentAttacks = listNames(takeSlice(paymentAttacks, share));

/** Formats a run's line about its choice. */
export function formatChoice(names: readonly string[]): string {
  return `attacks: ${names.join(", ")} (chosen again by GATEHOUSE_FUZZ_SEED=${seed})`;
}

function listNames(attacks: readonly Attack[]): readonly string[] {
  return attacks.map(({ name }) => name);
}
