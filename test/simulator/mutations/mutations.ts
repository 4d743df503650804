import { kindMutations } from "./kind-mutations.ts";
import { saleMutations } from "./sale-mutations.ts";
import { settlementMutations } from "./settlement-mutations.ts";

/** Faults that the simulator is to notice. */
export const mutations = [...settlementMutations, ...saleMutations, ...kindMutations];
