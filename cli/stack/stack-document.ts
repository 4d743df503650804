import type { ReadyRow } from "./ready-table.ts";

/** What `gatehouse stack --json` prints once its request is bought. */
export type StackDocument = Readonly<{
  parts: readonly ReadyRow[];
  /** The page about all services, with `--overview`. */
  overview: string | undefined;
  /** What `gatehouse pay --json` prints. */
  purchase: unknown;
  paidAfterMs: number;
}>;
