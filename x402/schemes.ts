import { exact } from "./exact.ts";
import type { Scheme } from "./scheme.ts";

/** The schemes that are known here. */
export const schemes: readonly Scheme[] = [exact];
