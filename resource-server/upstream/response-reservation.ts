import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { Route } from "../routes/route.ts";

/** No memory available to buffer a response. Nothing was charged for it. */
export class NoMemoryError extends Error {
  override readonly name = "NoMemoryError";
  readonly code = "no_room";
}

/** Memory reservation for one response: initially the size of its route's largest response so far, extended as it arrives. */
type ResponseRoom = Readonly<{
  /** Accounts for the response's next bytes. @throws {NoMemoryError} when there is no memory to buffer them. */
  hold: (bytes: number) => void;
  /** Releases what the whole response did not need. */
  trim: () => void;
}>;

/** Memory to buffer a response, and its route. */
type Held = Readonly<{ route: Route; memory: Pick<HeldBytes, "tryAcquire" | "release"> }>;

/** Reserves memory for responses before their upstreams are queried. */
export type ResponseReservations = Readonly<{
  /** Returns undefined if there is no memory for the route's earlier response size; its upstream should not be queried then. */
  open: (held: Held) => ResponseRoom | undefined;
}>;

/** Creates reservations that remember the response size of each route until the route changes. */
export function createResponseReservations(): ResponseReservations {
  const largest = new WeakMap<Route, number>();

  return {
    open: ({ route, memory }) => {
      let heldBytes = largest.get(route) ?? 0;
      if (!memory.tryAcquire(heldBytes)) return undefined;
      let length = 0;
      return {
        hold: (bytes) => {
          length += bytes;
          if (length <= heldBytes) return;
          largest.set(route, Math.max(length, largest.get(route) ?? 0));
          if (!memory.tryAcquire(length - heldBytes))
            throw new NoMemoryError("no memory left for the upstream's response");
          heldBytes = length;
        },
        trim: () => memory.release(heldBytes - length),
      };
    },
  };
}
