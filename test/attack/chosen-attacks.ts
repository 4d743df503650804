import { seed, takeSlice } from "../support/run-size.ts";
import { allAttacks } from "./attacks/all-attacks.ts";

import { paymentAttacks } from "./payments/hostile-payments.ts";
import type { Attack } from "./attacks/attack.ts";

/** One of so many attacks is made by `npm run test:docker`. */
const share = 3;

/** The attacks of this run by name: all of them in `npm run test:attack`, else a third, chosen by the seed, and all at a time. */
export const chosenAttacks = listNames([...takeSlice(allAttacks.slice(0, -1), share), ...allAttacks.slice(-1)]);

/** The attacks on the payment services of this run by name: all of them in `npm run test:attack`, else a third. */
export const chosenPaymentAttacks = listNames(takeSlice(paymentAttacks, share));

/** Formats the line that a run prints about its choice. */
export function formatChoice(names: readonly string[]): string {
  return `attacks: ${names.join(", ")} (chosen again by GATEHOUSE_FUZZ_SEED=${seed})`;
}

function listNames(attacks: readonly Attack[]): readonly string[] {
  return attacks.map(({ name }) => name);
}
