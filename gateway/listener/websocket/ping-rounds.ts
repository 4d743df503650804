/** Least time between two rounds, and most rounds. */
const roundMs = 100;
const mostRounds = 64;

/** Whoever is to be asked whether it is there. */
type Pinged = Readonly<{ ping: () => void }>;

/** Clients that are pinged, each once in an interval. */
export type PingRounds<Client extends Pinged> = Disposable &
  Readonly<{ add: (client: Client) => void; remove: (client: Client) => void }>;

/**
 * Pings clients, each once in `intervalMs`, some at a time: thousands at once, and their answers, would hold up all that comes
 * meanwhile.
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
