import { seed, takeSlice } from "../support/run-size.ts";
import { allAttacks } from "./attacks/all-attacks.ts";

/** One of so many attacks is made by `npm run test:docker`. */
const share = 3;

/** The attacks of this run by name: all of them in `npm run test:attack`, else a third, chosen by the seed, and all at a time. */
export const chosenAttacks: readonly string[] = [
  ...takeSlice(allAttacks.slice(0, -1), share),
  ...allAttacks.slice(-1),
].map(({ name }) => name);

/** Line that a run prints about its choice. */
export const toldChoice = `attacks: ${chosenAttacks.join(", ")} (chosen again by GATEHOUSE_FUZZ_SEED=${seed})`;
