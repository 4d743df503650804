import type { HeldConnection } from "./held-connection.ts";

/** Time that a new connection has to send its first bytes before it may be closed for others: a round trip, and a lost packet. */
const newGraceMs = 1_000;
/** Time that a request may take to come before its connection may be closed for others. */
const unfinishedGraceMs = 3_000;

/** Who goes first, and after which time. */
const order = ["new", "kept", "unfinished"] as const;
const graceMs = { new: newGraceMs, kept: 0, unfinished: unfinishedGraceMs } as const;

/** Which connections are to be closed. */
export type ShedOptions = Readonly<{
  nowMs: number;
  most: number;
  /** Most of those whose addresses hold more than their share, if there are so many; absent: as of all. */
  mostOfGreedy?: number;
  /** Whether an address holds more than its share: its idle connections go before all others, and have no grace. Absent: none does. */
  isOverShare?: (address: string) => boolean;
}>;

/**
 * Chooses connections to be closed for others: first those of addresses that hold more than their share; then those that have asked
 * nothing, then those that are kept alive, then those whose request does not become whole; of each kind the longest waiting. None that is
 * being answered.
 */
export function chooseToShed(
  connections: Iterable<HeldConnection>,
  { nowMs, most, mostOfGreedy = most, isOverShare }: ShedOptions,
): readonly HeldConnection[] {
  const found: { connection: HeldConnection; rank: number; sinceMs: number }[] = [];
  for (const connection of connections) {
    const { kind, sinceMs } = connection.standing(nowMs);
    if (kind === "busy") continue;
    const { address } = connection;
    const isGreedy = address !== undefined && isOverShare?.(address) === true;
    if (!isGreedy && nowMs - sinceMs < graceMs[kind]) continue;
    found.push({ connection, rank: order.indexOf(kind) + (isGreedy ? 0 : order.length), sinceMs });
  }
  found.sort((one, other) => one.rank - other.rank || one.sinceMs - other.sinceMs);
  const greedy = found.filter(({ rank }) => rank < order.length).length;
  return found.slice(0, Math.max(most, Math.min(greedy, mostOfGreedy))).map(({ connection }) => connection);
}
