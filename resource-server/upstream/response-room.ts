import { boundChunks, readBody, type Body } from "#daemon/bytes.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { Route } from "../routes/route.ts";

/** There is no room to hold a response. Nothing was charged for it. */
export class NoRoomError extends Error {
  override readonly name = "NoRoomError";
  readonly code = "no_room";
}

/** Room for one response: as much as its route's largest so far took, and more as it comes. */
type ResponseRoom = Readonly<{
  /**
   * Reads a response of at most `limitBytes`.
   *
   * @throws {BodyTooLargeError} when there is more.
   * @throws {NoRoomError} when it may not be held.
   */
  read: (body: Body, limitBytes: number) => Promise<Uint8Array<ArrayBuffer>>;
}>;

/** Memory that a response is to be held in, and its route. */
type Held = Readonly<{ route: Route; memory: Pick<HeldBytes, "tryAcquire" | "release"> }>;

/** Makes room for responses before their upstreams are queried. */
export type ResponseRooms = Readonly<{
  /** Returns undefined if there is no room for what the route gave before: its upstream should not be queried then. */
  open: (held: Held) => ResponseRoom | undefined;
}>;

/** Creates rooms that remember what each route's responses took, for as long as the route stays as it is. */
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
        if (!memory.tryAcquire(length - heldBytes)) throw new NoRoomError("no room for the upstream's response");
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
