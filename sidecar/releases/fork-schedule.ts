import type { ConditionReport } from "#status/condition.ts";
import { isSameCommit } from "#node/versions.ts";
import type { Fork } from "./release-lists.ts";

export type ForkSituation = Readonly<{
  /** Schedule next to the node's programs; undefined if unreadable. */
  own: readonly Fork[] | undefined;
  published: readonly Fork[];
  commit: string | undefined;
  /** Wall-clock time at which epoch 0 started, and the epoch length; undefined if that time is unknown. */
  epochs: Readonly<{ startMs: number; lengthMs: number }> | undefined;
  nowMs: number;
}>;

const type = "VersionSupported";
const dayMs = 86_400_000;

/** Determines whether the programs support the listed forks, both active and upcoming. Pure. */
export function evaluateForks(situation: ForkSituation, warnBeforeSeconds: number): ConditionReport<typeof type> {
  const { own, published, epochs, nowMs } = situation;
  const names = new Set(published.map(({ name }) => name));
  const all = [...(own ?? []).filter(({ name }) => !names.has(name)), ...published].toSorted(
    (one, other) => one.epoch - other.epoch,
  );
  const spec = findSpec(all, situation);
  if (spec === undefined) {
    const message =
      "The spec of the node's binaries is unknown: no listed fork has their commit, and there is no VERSION file next to them.";
    return { type, status: "Unknown", reason: "NotCompared", message };
  }
  const has = `this node has spec ${spec}`;
  const missingForks = all.filter(({ version }) => version > spec);
  const [first] = missingForks;
  if (epochs === undefined) {
    if (first === undefined)
      return { type, status: "True", reason: "Supported", message: `No later fork is listed; ${has}.` };
    const message = `${describeFork(first)}, and ${has}. The start of that epoch is unknown: set upgrade.epochZeroMs (GATEHOUSE_SIDECAR_UPGRADE_EPOCH_ZERO_MS).`;
    return { type, status: "Unknown", reason: "NotCompared", message };
  }
  const findStart = ({ epoch }: Fork) => epochs.startMs + epoch * epochs.lengthMs;
  const passedFork = missingForks.findLast((fork) => findStart(fork) <= nowMs);
  if (passedFork !== undefined) {
    const message = `${describeFork(passedFork)}, which is already active, and ${has}. Upgrade the binaries and VERSION now: gatehouse upgrade.`;
    return { type, status: "False", reason: "Outdated", message };
  }
  const next = all.find((fork) => findStart(fork) > nowMs);
  if (next === undefined) {
    return { type, status: "True", reason: "Supported", message: `The schedule has no upcoming fork; ${has}.` };
  }
  const message = `The next fork is ${describeStart(findStart(next), next, nowMs)}; ${has}.`;
  if (first === undefined) return { type, status: "True", reason: "Supported", message };
  const upgrade = `${message} Upgrade the binaries and VERSION before then: gatehouse upgrade.`;
  return findStart(first) - nowMs <= warnBeforeSeconds * 1_000
    ? { type, status: "False", reason: "OutdatedSoon", message: upgrade }
    : { type, status: "True", reason: "Supported", message: upgrade };
}

/** The spec of the fork that lists the programs' commit, or else of the last fork in the schedule next to them. */
function findSpec(all: readonly Fork[], { own, commit }: ForkSituation): number | undefined {
  const named = all.filter(
    (fork) => commit !== undefined && fork.commit !== undefined && isSameCommit(fork.commit, commit),
  );
  const known = named.length > 0 ? named : (own ?? []);
  return known.length === 0 ? undefined : Math.max(...known.map(({ version }) => version));
}

function describeFork({ version, epoch, name }: Fork): string {
  return `From epoch ${epoch}, the chain requires spec ${version} (${name})`;
}

function describeStart(startMs: number, { epoch, version, name }: Fork, nowMs: number): string {
  const days = Math.floor((startMs - nowMs) / dayMs);
  const left = days < 1 ? "within a day" : `in ${days} day${days === 1 ? "" : "s"}`;
  return `at epoch ${epoch}, ${left} (${new Date(startMs).toISOString().slice(0, 16)}Z): spec ${version} (${name})`;
}
