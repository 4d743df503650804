import type { Scheme } from "#x402/scheme.ts";
import { schemes } from "#x402/schemes.ts";

/** Schemes that this client pays by without being asked: their payments need no memory of earlier ones. */
export const payingSchemes: readonly Scheme[] = schemes.filter(({ busy }) => busy === undefined);
