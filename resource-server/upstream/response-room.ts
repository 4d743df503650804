import { boundChunks, readBody, type Body } from "#daemon/bytes.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { Route } from "../routes/route.ts";

/** No memory available to buffer a response. Nothing was charged for it. */
export class NoRoomError extends Error {
  override readonly name = "NoRoomError";
  readonly code = "no_room";
}

/** Memory reservation for one response: initially the size of its route's largest response so far, extended as it arrives. */
type ResponseRoom = Readonly<{
  /**
   * Reads a response of at most `limitBytes`.
   *
   * @throws {BodyTooLargeError} when it is larger.
   * @throws {NoRoomError} when there is no memory to buffer it.
   */
  read: (body: Body, limitBytes: number) => Promise<Uint8Array<ArrayBuffer>>;
}>;

/** Memory to buffer a response, and its route. */
type Held = Readonly<{ route: Route; memory: Pick<HeldBytes, "tryAcquire" | "release"> }>;

/** Reserves memory for responses before their upstreams are queried. */
export type ResponseRooms = Readonly<{
  /** Returns undefined if there is no memory for the route's earlier response size; its upstream should not be queried then. */
  open: (held: Held) => ResponseRoom | undefined;
}>;

/** Creates reservations that remember the response size of each route until the route changes. */
export function createResponseRooms(): ResponseRooms {
  const largest = new WeakMap<Route, number>();

  async function* hold(
    chunks: AsyncIterable<Uint8Array>,
    expectedBytes: number,
    { route, memory }: Held,
  ): AsyncGenerator<Uint8Array, void> {
    let length = 0;
    let heldBytes = expectedBytes;
    for await (const chunk of chunks) {
      length += chunk.byteLength;
      if (length > heldBytes) {
        largest.set(route, Math.max(length, largest.get(route) ?? 0));
        if (!memory.tryAcquire(length - heldBytes)) throw new NoRoomError("no memory left for the upstream's response");
        heldBytes = length;
      }
      yield chunk;
    }
    memory.release(heldBytes - length);
  }

  return {
    open: (held) => {
      const expectedBytes = largest.get(held.route) ?? 0;
      if (!held.memory.tryAcquire(expectedBytes)) return undefined;
      return {
        read: (body, limitBytes) => readBody(hold(boundChunks(body, limitBytes), expectedBytes, held), limitBytes),
      };
    },
  };
}
