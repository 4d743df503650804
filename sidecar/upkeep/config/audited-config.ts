import { isDeepStrictEqual } from "node:util";
import type { Clock } from "#daemon/clock.ts";
import { createSlidingWindow } from "#daemon/sliding-window.ts";
import { parseConfig } from "#node/conf/document.ts";
import type { EventLog } from "#status/event-log.ts";
import type { AuditedConfig, UpkeepState } from "../state/upkeep-state.ts";
import { hashContent, type ConfigReading } from "./config-file.ts";
import type { ConfigObservation } from "./config-observation.ts";
import type { ConfigVersions } from "./config-versions.ts";
import { describeEdit } from "./describe-edit.ts";

type OwnWrite = Readonly<{ path: string; expectedHash: string | undefined; content: Uint8Array }>;

/** Records the content that the sidecar is about to write, so that it isn't reported as an external change. */
export function recordIntendedWrite(
  { path, expectedHash, content }: OwnWrite,
  { auditedConfig }: Pick<UpkeepState, "auditedConfig">,
): void {
  const audited = { path, sha256: expectedHash, writing: hashContent(content) };
  // A failed write is retried on each iteration.
  if (JSON.stringify(audited) !== JSON.stringify(auditedConfig.get())) auditedConfig.set(audited);
}

/** Records the content that the sidecar has written. */
export function recordWritten(
  { path, content }: OwnWrite,
  { auditedConfig }: Pick<UpkeepState, "auditedConfig">,
): void {
  auditedConfig.set({ path, sha256: hashContent(content) });
}

/** Rate limit for audit log lines about external changes. */
export type EditRate = ReturnType<typeof createEditRate>;

/** Max lines within {@link rateWithinMs}: a program that keeps rewriting node.conf must not flood the audit log. */
const linesMax = 10;
const rateWithinMs = 600_000;

/** Creates the rate limit. */
export function createEditRate(clock: Pick<Clock, "monotonicMs">) {
  const reported = createSlidingWindow(rateWithinMs, clock.monotonicMs);
  let skipped = 0;
  let lastSkipped: string | undefined;
  return {
    /** Returns the number of contents skipped since the last line; undefined if this content is skipped too. */
    admit: (sha256: string | undefined) => {
      if (reported.times().length >= linesMax) {
        if (sha256 !== lastSkipped) skipped += 1;
        lastSkipped = sha256;
        return undefined;
      }
      reported.add();
      // Content that gets a line now no longer counts as skipped.
      const without = sha256 === lastSkipped ? Math.max(0, skipped - 1) : skipped;
      [skipped, lastSkipped] = [0, undefined];
      return without;
    },
  };
}

export type ReportEditDependencies = Readonly<{
  state: Pick<UpkeepState, "auditedConfig" | "atomically">;
  versions: ConfigVersions;
  events: Pick<EventLog, "add">;
  edits: EditRate;
}>;

/** Min age before unusable content is reported: while saving, most editors briefly leave no file or a partial one. */
const brokenForMs = 2_000;

/**
 * Reports each content that the sidecar neither wrote nor reported earlier, once, even if it was written before the sidecar started. Never
 * reports the first content that it sees.
 *
 * @param auditedThen what had been reported when the read of the content started: the sidecar may have written since.
 */
export async function reportEdit(
  reading: ConfigReading,
  {
    path,
    auditedThen,
    standsForMs,
    lastUsable,
  }: Readonly<{ path: string; auditedThen: AuditedConfig | undefined; standsForMs: number }> &
    Pick<ConfigObservation, "lastUsable">,
  { state, versions, events, edits }: ReportEditDependencies,
): Promise<void> {
  const { contentHash: sha256 } = reading;
  // It's unknown whether an unreadable file was changed.
  if (!reading.ok && sha256 === undefined && reading.problem.reason !== "FileMissing") return;
  const audited = state.auditedConfig.get();
  if (!isDeepStrictEqual(audited, auditedThen)) return;
  const now = { path, sha256 };
  if (audited === undefined || (sha256 !== undefined && audited.writing === sha256))
    return state.auditedConfig.set(now);
  if (audited.sha256 === sha256) {
    if (audited.path !== path) state.auditedConfig.set(now);
    return;
  }
  if (!reading.ok && standsForMs < brokenForMs) return;
  const skipped = edits.admit(sha256);
  if (skipped === undefined) return;
  const before = await findContent(audited.sha256, lastUsable, versions);
  const message = `${describeChange(reading, before, audited)}.${skipped === 0 ? "" : ` ${skipped} other edits since the previous entry have none.`}`;
  state.atomically(() => {
    const sides = { before: { sha256: audited.sha256 }, after: { sha256 } };
    events.add("edit", message, undefined, { by: "somebody else", outcome: "success", ...sides });
    state.auditedConfig.set(now);
  });
}

function describeChange(reading: ConfigReading, before: Uint8Array | undefined, audited: AuditedConfig): string {
  if (!reading.ok) {
    const { reason } = reading.problem;
    if (reason === "FileMissing") return "node.conf was removed by another program or user";
    return `node.conf was changed by another program or user and is invalid (${reason})`;
  }
  if (audited.sha256 === undefined) return "node.conf was created by another program or user";
  const parsed = before === undefined ? undefined : parseConfig(before);
  const what =
    parsed?.ok === true
      ? describeEdit(parsed.document.value, reading.document.value)
      : "its previous content was not stored or was invalid, so the changed keys are unknown";
  return `node.conf was changed by another program or user: ${what}`;
}

/** Finds the content with a given hash, if it is still in memory or on disk. */
async function findContent(
  sha256: string | undefined,
  lastUsable: ConfigObservation["lastUsable"],
  versions: ConfigVersions,
): Promise<Uint8Array | undefined> {
  if (sha256 === undefined) return undefined;
  if (lastUsable?.contentHash === sha256) return lastUsable.bytes;
  const kept = [() => versions.recall("last-good"), () => versions.recall("healthy"), () => versions.newest()];
  for (const recall of kept) {
    // If a copy can't be read, only the list of keys is lost; a condition reports the state directory's failure.
    const bytes = await recall().catch(() => undefined);
    if (bytes !== undefined && hashContent(bytes) === sha256) return bytes;
  }
  return undefined;
}
