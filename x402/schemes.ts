import { exact } from "./exact.ts";
import type { Scheme } from "./scheme.ts";

/** All known schemes. */
export const schemes: readonly Scheme[] = [exact];
