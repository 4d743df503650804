import type { WebSocket } from "ws";

/** Liveness of a client, found out by pings. */
export type ClientLiveness = Readonly<{
  /** Notes that the client answered. */
  heard: () => void;
  /** Pings the client; drops it if the last ping had no answer. */
  ping: () => void;
}>;

/** `droppedAsSilent` is called before a client that answers no ping is dropped. */
export type ClientLivenessDependencies = Readonly<{ unsentBytes: () => number; droppedAsSilent: () => void }>;

/** Creates the watch of one client. */
export function watchLiveness(
  socket: WebSocket,
  { unsentBytes: unsent, droppedAsSilent }: ClientLivenessDependencies,
): ClientLiveness {
  const state = { isAlive: true, unsentBytes: 0 };
  return {
    heard: () => {
      state.isAlive = true;
    },
    ping: () => {
      const unsentBytes = unsent();
      // A client that is not read from can't be heard. That it takes what was sent shows that it is there.
      const isExcused = socket.isPaused && (unsentBytes === 0 || unsentBytes < state.unsentBytes);
      state.unsentBytes = unsentBytes;
      if (!state.isAlive && !isExcused) {
        droppedAsSilent();
        socket.terminate();
        return;
      }
      state.isAlive = false;
      if (socket.readyState === socket.OPEN) socket.ping();
    },
  };
}

/**
 * Answers a client's pings: of those that come in one turn of the event loop the last (RFC 6455, section 5.5.3). Thousands fit into one
 * read, and each answer would be a separate write.
 */
export function answerPings(socket: WebSocket): void {
  let latest: Buffer | undefined;
  const answer = () => {
    const data = latest;
    latest = undefined;
    if (data !== undefined && socket.readyState === socket.OPEN) socket.pong(data);
  };
  socket.on("ping", (data: Buffer) => {
    if (latest === undefined) setImmediate(answer);
    latest = data;
  });
}

/** Least time between two rounds, and most rounds. */
const roundMs = 100;
const mostRounds = 64;

/** A client that is pinged. */
type Pinged = Readonly<{ ping: () => void }>;

/** Clients that are pinged, each once in an interval. */
export type PingRounds<Client extends Pinged> = Disposable &
  Readonly<{ add: (client: Client) => void; remove: (client: Client) => void }>;

/**
 * Pings clients, each once in `intervalMs`, some at a time: thousands at once, and their answers, would hold up everything
 * else.
 */
export function startPingRounds<Client extends Pinged>(intervalMs: number): PingRounds<Client> {
  const count = Math.min(mostRounds, Math.max(1, Math.floor(intervalMs / roundMs)));
  const rounds = Array.from({ length: count }, () => new Set<Client>());
  let turn = 0;
  const timer = setInterval(() => {
    turn = (turn + 1) % count;
    for (const client of rounds[turn] ?? []) client.ping();
  }, intervalMs / count);
  timer.unref();
  return {
    add: (client) => rounds.reduce((least, round) => (round.size < least.size ? round : least)).add(client),
    remove: (client) => {
      for (const round of rounds) round.delete(client);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
