import type { ConnectedClient } from "./connected-client.ts";

/** Bytes of a message that is not whole from which on they count as held. */
const smallBytes = 16_384;
/** Close code of a client that may come back later (IANA's registry of WebSocket close codes). */
const tryAgainLater = 1013;
/** Time in which it may answer the close: what it sends meanwhile is kept and counts for nobody. */
const goneWithinMs = 1_000;

/** What came of a message that is not whole. */
export type PartialMessages = Readonly<{ whole: () => void }>;

/** Counts what the WebSocket keeps of a message until it is whole; a client whose message may not be held is closed with 1013. */
export function holdPartialMessages({
  socket,
  connection,
  memory,
}: Pick<ConnectedClient, "socket" | "connection" | "memory">): PartialMessages {
  let bytes = 0;
  let held = 0;
  // Before the WebSocket's own listener: what completes a message is counted, and forgotten with it.
  connection.prependListener("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= smallBytes) return;
    if (memory.take(bytes - held)) {
      memory.waits(bytes - held);
      held = bytes;
    } else if (socket.readyState === socket.OPEN) {
      socket.close(tryAgainLater, "too much is held in memory; try again later");
      setTimeout(() => socket.terminate(), goneWithinMs).unref();
    }
  });
  return {
    whole: () => {
      memory.give(held);
      memory.waits(-held);
      bytes = 0;
      held = 0;
    },
  };
}
