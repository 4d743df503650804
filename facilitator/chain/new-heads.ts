import { WebSocket } from "ws";
import { z } from "zod";
import type { Logger } from "#daemon/log/log.ts";
import { writeCall } from "#daemon/json-rpc.ts";
import { createBackoff, pause as timedPause, type Pause } from "#daemon/time.ts";

/** WebSocket URL at which new blocks are announced. */
export type NewHeadsOptions = Readonly<{ url: string }>;

export type NewHeadsDependencies = Readonly<{
  /** Called for each new block; the block itself is requested by whoever wants it. */
  onHead: () => void;
  log: Logger;
  pause?: Pause;
}>;

const reconnect = { initialMs: 1_000, maxMs: 30_000 } as const;
const handshakeDeadlineMs = 10_000;
/** Time that the node may take to close the connection before it is cut. */
const closeDeadlineMs = 500;
const notification = z.object({ method: z.literal("eth_subscription") });

/**
 * Subscribes to `newHeads` over WebSocket and stays subscribed. It only wakes those who poll anyway, so that its loss makes
 * nothing wrong, only a little later. Disposing of it closes the connection.
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
      // The node answers; one that closes each connection as soon as it is open does not.
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
      log.debug({ reconnectAfterMs }, "no newHeads; polling alone until the connection is back");
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
    // Whatever else a WebSocket endpoint says announces no block.
    return false;
  }
}
