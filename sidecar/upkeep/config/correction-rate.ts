import type { Clock } from "#daemon/clock.ts";
import { createSlidingWindow } from "#daemon/sliding-window.ts";

export type CorrectionRate = ReturnType<typeof createCorrectionRate>;

/** Fingerprint of the corrected configuration, and the start time of the restart that wrote the content being corrected; undefined if no restart wrote it. */
type CorrectionKind = Readonly<{ fingerprint: string; restartMs: number | undefined }>;

/** Number of consecutive starts that overwrite the same content after which the next start is expected to do so too. */
const maxStarts = 2;

const contestedPerMinute = 60;

/** Number of corrections of identical content at which it counts as repeated; provisioning programs run every half hour or so. */
const sameContentMax = 3;
const sameContentWithinMs = 6 * 3_600_000;

/** Max number of contents tracked; a competing program writes one of them. */
const contentsMax = 64;

const minuteMs = 60_000;

type Correction = Readonly<{ atMs: number; contentHash: string }>;

/** Creates an empty record, which retains at most one minute of corrections and the last few contents. */
export function createCorrectionRate(clock: Clock) {
  let recentCorrections = createSlidingWindow(minuteMs, clock.monotonicMs);
  let contents: readonly Correction[] = [];
  let reverted: Readonly<{ fingerprint: string; starts: number; restartMs: number }> | undefined;
  const findRevertedCorrections = () =>
    reverted !== undefined && reverted.starts >= maxStarts ? reverted.fingerprint : undefined;
  /** Records whether the node's start script wrote the content being corrected. A writer that writes twice during one restart must be another program. */
  const recordStart = ({ fingerprint, restartMs }: CorrectionKind) => {
    const sameCorrection = reverted?.fingerprint === fingerprint ? reverted : undefined;
    const isStart = restartMs !== undefined && restartMs !== reverted?.restartMs;
    if (isStart) reverted = { fingerprint, starts: (sameCorrection?.starts ?? 0) + 1, restartMs };
    else reverted = restartMs === undefined ? sameCorrection : undefined;
  };
  const listRepeatedCorrections = () => {
    const fromMs = clock.monotonicMs() - sameContentWithinMs;
    const times = Map.groupBy(
      contents.filter(({ atMs }) => atMs > fromMs),
      ({ contentHash }) => contentHash,
    );
    return [...times.values()].filter((each) => each.length >= sameContentMax);
  };
  /** Time at which the conflict ends unless there are more changes (monotonic); undefined if there is no conflict. */
  const contestedUntilMs = () => {
    const ends = recentCorrections.times().at(-contestedPerMinute - 1);
    return ends === undefined ? undefined : ends + minuteMs;
  };
  const repeatedUntilMs = () => {
    const ends = listRepeatedCorrections().flatMap((each) => each.at(-sameContentMax)?.atMs ?? []);
    return ends.length === 0 ? undefined : Math.max(...ends) + sameContentWithinMs;
  };
  return {
    record: (contentHash: string, kind?: CorrectionKind) => {
      const atMs = clock.monotonicMs();
      recentCorrections.add();
      if (kind !== undefined) recordStart(kind);
      contents = [...contents, { atMs, contentHash }].slice(-contentsMax);
      // Once the node's start script is known to write a content, there is no need to look for another program.
      if (findRevertedCorrections() !== undefined)
        contents = contents.filter((each) => each.contentHash !== contentHash);
    },
    /**
     * Fingerprint of the node.conf that the last two starts overwrote; undefined while another program keeps writing, because a start
     * writes only once.
     */
    revertedByStart: () => (contestedUntilMs() === undefined ? findRevertedCorrections() : undefined),
    perMinute: () => recentCorrections.times().length,
    contested: () => contestedUntilMs() !== undefined,
    /** Whether the identical content was corrected several times: an operator doesn't repeat a change byte for byte. */
    repeated: () => repeatedUntilMs() !== undefined,
    contestedUntilMs,
    repeatedUntilMs,
    forget: () => {
      recentCorrections = createSlidingWindow(minuteMs, clock.monotonicMs);
      contents = [];
      reverted = undefined;
    },
  };
}

export type EditRate = ReturnType<typeof createEditRate>;

/** Max lines within {@link rateWithinMs}: a program that keeps rewriting node.conf must not flood the audit log. */
const linesMax = 10;
const rateWithinMs = 600_000;

export function createEditRate(clock: Pick<Clock, "monotonicMs">) {
  const reportedEdits = createSlidingWindow(rateWithinMs, clock.monotonicMs);
  let skippedCount = 0;
  let lastSkipped: string | undefined;
  return {
    /** Returns the number of contents skipped since the last line; undefined if this content is skipped too. */
    admit: (sha256: string | undefined) => {
      if (reportedEdits.times().length >= linesMax) {
        if (sha256 !== lastSkipped) skippedCount += 1;
        lastSkipped = sha256;
        return undefined;
      }
      reportedEdits.add();
      // Content logged now no longer counts as skipped.
      const otherSkipped = sha256 === lastSkipped ? Math.max(0, skippedCount - 1) : skippedCount;
      [skippedCount, lastSkipped] = [0, undefined];
      return otherSkipped;
    },
  };
}
