/** A period in which the node did not serve. */
export type Outage = Readonly<{
  /** Wall clock. */
  fromMs: number;
  /** End of the outage; absent while it lasts. */
  toMs?: number;
  /** Whether the outage started before the first check. */
  beganEarlier: boolean;
}>;

/** Periods in which the node did not serve, and the start of its current state. */
export type Outages = Readonly<{
  /** Records the current state; `serves` is undefined while unknown. */
  note: (now: Readonly<{ state: string; serves: boolean | undefined }>) => void;
  /** Start of the current state (wall clock), and whether the node was already in that state at the first check. */
  since: () => Readonly<{ atMs: number; beganEarlier: boolean }> | undefined;
  /** Oldest first. */
  list: () => readonly Outage[];
}>;

/** Max number of outages retained, and their max age. */
const outagesKept = 50;
const keptMs = 86_400_000;

/** Creates an empty record of outages, which lasts as long as the process. */
export function createOutages(clock: Readonly<{ wallMs: () => number }>): Outages {
  let outages: readonly Outage[] = [];
  let current: { state: string; atMs: number; beganEarlier: boolean } | undefined;
  let isFirst = true;
  const noteServing = (serves: boolean, atMs: number) => {
    const last = outages.at(-1);
    const isOut = last !== undefined && last.toMs === undefined;
    if (serves && isOut) outages = [...outages.slice(0, -1), { ...last, toMs: atMs }];
    if (!serves && !isOut) outages = [...outages, { fromMs: atMs, beganEarlier: isFirst }].slice(-outagesKept);
    isFirst = false;
  };
  return {
    note: ({ state, serves }) => {
      const atMs = clock.wallMs();
      outages = outages.filter(({ toMs = atMs }) => atMs - toMs <= keptMs);
      if (serves !== undefined) noteServing(serves, atMs);
      if (current?.state !== state) current = { state, atMs, beganEarlier: current === undefined };
    },
    since: () => current,
    list: () => outages,
  };
}
