import type { Clock } from "#daemon/clock.ts";
import { createSlidingWindow } from "#daemon/sliding-window.ts";

/** Rate of corrections of node.conf; distinguishes a drift from a second writer that disagrees. */
export type CorrectionRate = Readonly<{
  /** Notes a correction of a content, known by its hash. */
  record: (contentHash: string, kind?: CorrectionKind) => void;
  /** Returns the meaning of the node.conf that the node's own start overwrote at each of the last two restarts; undefined if there is none. */
  undoneByStart: () => string | undefined;
  /** Corrections within the last minute. */
  perMinute: () => number;
  /** Whether another program keeps changing the file; ends after a minute of calm. */
  contested: () => boolean;
  /** Whether the very same content had to be corrected several times: a person makes no change again and again to the byte. */
  repeated: () => boolean;
  /** Time until which that holds unless it goes on (monotonic); undefined if it does not hold. */
  contestedUntilMs: () => number | undefined;
  repeatedUntilMs: () => number | undefined;
  /** Forgets all corrections, because a person says that the contest is over. */
  forget: () => void;
  /** Time that the next correction has to wait; 0 if none. */
  waitMs: () => number;
}>;

/** Meaning of the corrected content, and the beginning of the restart in which what it corrects was written; undefined if that was in none. */
type CorrectionKind = Readonly<{ meaning: string; restartMs: number | undefined }>;

/** Starts in a row that overwrite the same content from which a further one is expected to. */
const startsMax = 2;

/** Corrections within a minute beyond which the file counts as contested. */
const contestedPerMinute = 60;

/** Corrections within a minute beyond which they slow down to one a second. */
const fullSpeedPerMinute = 300;

/** Corrections of one content from which it counts as repeated; programs that set a machine up run every half hour or so. */
const sameContentMax = 3;
const sameContentWithinMs = 6 * 3_600_000;

/** Contents that are remembered; one program writes one of them. */
const contentsMax = 64;

const slowCorrectionMs = 1_000;
const minuteMs = 60_000;

type Correction = Readonly<{ atMs: number; contentHash: string }>;

/** Creates an empty record; it never holds more than a minute's corrections and the last few contents. */
export function createCorrectionRate(clock: Clock): CorrectionRate {
  let recent = createSlidingWindow(minuteMs, clock.monotonicMs);
  let contents: readonly Correction[] = [];
  let undone: Readonly<{ meaning: string; starts: number; restartMs: number }> | undefined;
  const findUndone = () => (undone !== undefined && undone.starts >= startsMax ? undone.meaning : undefined);
  /** Notes whether the node's start wrote what is corrected. Whoever writes twice during one restart is somebody else. */
  const noteStart = ({ meaning, restartMs }: CorrectionKind) => {
    const before = undone?.meaning === meaning ? undone : undefined;
    const isStart = restartMs !== undefined && restartMs !== undone?.restartMs;
    if (isStart) undone = { meaning, starts: (before?.starts ?? 0) + 1, restartMs };
    else undone = restartMs === undefined ? before : undefined;
  };
  /** Lists the corrections of each content that still count, oldest first. */
  const listRepeats = () => {
    const fromMs = clock.monotonicMs() - sameContentWithinMs;
    const times = Map.groupBy(
      contents.filter(({ atMs }) => atMs > fromMs),
      ({ contentHash }) => contentHash,
    );
    return [...times.values()].filter((each) => each.length >= sameContentMax);
  };
  const contestedUntilMs = () => {
    const ends = recent.times().at(-contestedPerMinute - 1);
    return ends === undefined ? undefined : ends + minuteMs;
  };
  const repeatedUntilMs = () => {
    const ends = listRepeats().flatMap((each) => each.at(-sameContentMax)?.atMs ?? []);
    return ends.length === 0 ? undefined : Math.max(...ends) + sameContentWithinMs;
  };
  return {
    record: (contentHash, kind) => {
      const atMs = clock.monotonicMs();
      recent.add();
      if (kind !== undefined) noteStart(kind);
      contents = [...contents, { atMs, contentHash }].slice(-contentsMax);
      // Once it is known to be the start that writes a content, no other program is looked for.
      if (findUndone() !== undefined) contents = contents.filter((each) => each.contentHash !== contentHash);
    },
    undoneByStart: findUndone,
    perMinute: () => recent.times().length,
    contested: () => contestedUntilMs() !== undefined,
    repeated: () => repeatedUntilMs() !== undefined,
    contestedUntilMs,
    repeatedUntilMs,
    forget: () => {
      recent = createSlidingWindow(minuteMs, clock.monotonicMs);
      contents = [];
      undone = undefined;
    },
    waitMs: () => {
      const last = recent.times().at(-1);
      if (last === undefined || recent.times().length <= fullSpeedPerMinute) return 0;
      return Math.max(0, slowCorrectionMs - (clock.monotonicMs() - last));
    },
  };
}
