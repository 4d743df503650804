import { kindMutations } from "./kind-mutations.ts";
import { saleMutations } from "./sale-mutations.ts";
import { settlementMutations } from "./settlement-mutations.ts";

/** Faults that the simulator must detect. */
export const mutations = [...settlementMutations, ...saleMutations, ...kindMutations];
