import { batchSettlement } from "./batch-settlement.ts";
import { exact } from "./exact.ts";
import type { Scheme } from "./scheme.ts";
import { upto } from "./upto.ts";

export const schemes: readonly Scheme[] = [exact, upto, batchSettlement];
