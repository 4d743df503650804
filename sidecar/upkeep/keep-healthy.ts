import type { UpkeepParts } from "./upkeep-parts.ts";

/** Keeps what the node was healthy with, for a roll-back. That it can't be kept is an event, and no reason to doubt the node. */
export async function keepHealthy(
  bytes: Uint8Array,
  { versions, events, log }: Pick<UpkeepParts, "versions" | "events" | "log">,
): Promise<void> {
  try {
    await versions.remember("healthy", bytes);
  } catch (error) {
    log.error({ err: error }, "the healthy configuration could not be kept; look at upkeep.stateDirectory");
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    events.add(
      "restart",
      `The healthy configuration could not be kept (${why}): a roll-back would restore an earlier one. Make upkeep.stateDirectory writable.`,
    );
  }
}
