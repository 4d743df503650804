import type { WebSocket } from "ws";

/** Liveness of a client, checked by pings. */
export type ClientLiveness = Readonly<{
  /** Records that the client responded. */
  heard: () => void;
  /** Pings the client, or drops it if it did not respond to the last ping. */
  ping: () => void;
}>;

/** `droppedAsSilent` is called before an unresponsive client is dropped. */
export type ClientLivenessDependencies = Readonly<{ unsentBytes: () => number; droppedAsSilent: () => void }>;

/** Creates the liveness check of one client. */
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
      // A paused client's pongs are not read, but if the client reads the bytes sent to it, it is alive.
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
 * Answers a client's pings, but only the last of those that arrive in one event loop tick (RFC 6455, section 5.5.3). Thousands of pings fit
 * into one read, and each pong would be a separate write.
 */
export function respondToPings(socket: WebSocket): void {
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

/** Min interval between two rounds, and max number of rounds. */
const roundMs = 100;
const roundsMax = 64;

type Pinged = Readonly<{ ping: () => void }>;

/** Clients that are pinged once per interval. */
export type PingRounds<Client extends Pinged> = Disposable &
  Readonly<{ add: (client: Client) => void; remove: (client: Client) => void }>;

/** Pings each client once per `intervalMs`, a few at a time: thousands of simultaneous pings and pongs would block everything else. */
export function startPingRounds<Client extends Pinged>(intervalMs: number): PingRounds<Client> {
  const count = Math.min(roundsMax, Math.max(1, Math.floor(intervalMs / roundMs)));
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
