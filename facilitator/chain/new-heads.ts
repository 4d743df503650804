import { WebSocket } from "ws";
import { z } from "zod";
import type { Logger } from "#daemon/log/log.ts";
import { writeCall } from "#daemon/json-rpc.ts";
import { createBackoff, pause as timedPause, type Pause } from "#daemon/time.ts";

/** WebSocket URL for new-block notifications. */
export type NewHeadsOptions = Readonly<{ url: string }>;

export type NewHeadsDependencies = Readonly<{
  /** Called for each new block, without the block itself. */
  onHead: () => void;
  log: Logger;
  pause?: Pause;
}>;

const reconnect = { initialMs: 1_000, maxMs: 30_000 } as const;
const handshakeDeadlineMs = 10_000;
/** Time limit for the node to close the connection before it is terminated. */
const closeDeadlineMs = 500;
const notification = z.object({ method: z.literal("eth_subscription") });

/**
 * Subscribes to `newHeads` over WebSocket and resubscribes when needed. It only wakes existing pollers, so losing it only delays them.
 * Disposal closes the connection.
 */
export function followNewHeads(
  { url }: NewHeadsOptions,
  { onHead, log, pause = timedPause }: NewHeadsDependencies,
): AsyncDisposable {
  const backoff = createBackoff(reconnect);
  const stop = new AbortController();
  let socket: WebSocket | undefined;

  const connectOnce = async (): Promise<void> => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const connection = new WebSocket(url, { handshakeTimeout: handshakeDeadlineMs });
    socket = connection;
    connection.addEventListener("open", () =>
      connection.send(writeCall({ method: "eth_subscribe", params: ["newHeads"] })),
    );
    connection.addEventListener("message", ({ data }) => {
      // Reset only here: the node responds, unlike one that closes each connection right after opening it.
      backoff.reset();
      if (isNotification(data)) onHead();
    });
    connection.addEventListener("error", ({ error }) => log.debug({ err: error }, "the newHeads connection failed"));
    connection.addEventListener("close", () => resolve());
    await closed;
  };

  const follow = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await connectOnce();
      if (stop.signal.aborted) return;
      const reconnectAfterMs = backoff.nextMs();
      log.debug({ reconnectAfterMs }, "newHeads is unavailable; polling the chain until the connection is restored");
      await pause(reconnectAfterMs, stop.signal);
    }
  };

  const following = follow();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      socket?.close();
      const cut = setTimeout(() => socket?.terminate(), closeDeadlineMs);
      await following;
      clearTimeout(cut);
    },
  };
}

function isNotification(data: unknown): boolean {
  if (typeof data !== "string") return false;
  try {
    return notification.safeParse(JSON.parse(data)).success;
  } catch {
    // Any other message does not announce a block.
    return false;
  }
}
