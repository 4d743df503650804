import gte from "semver/functions/gte.js";
import type { ConditionReport } from "#status/condition.ts";
import { parseNodeVersion, type NodeVersion } from "#node/versions.ts";
import type { Release } from "./release-lists.ts";

export type RunningNode = Readonly<{
  version: NodeVersion | undefined;
  height: number | undefined;
  /** Block time; undefined if the node has never reported block timestamps. */
  secondsPerBlock: number | undefined;
  /** Wall clock. */
  nowMs: number;
}>;

type Needed = Release & Readonly<{ minVersionAt: number }>;

const type = "VersionSupported";

/** Determines whether the running version is new enough for the chain, now and at upcoming heights. Pure. */
export function evaluateVersion(
  list: readonly Release[],
  node: RunningNode,
  warnBeforeSeconds: number,
): ConditionReport<typeof type> {
  const { version, height } = node;
  if (version === undefined || height === undefined) {
    const what = version === undefined ? "version (see VersionConsistent)" : "height (see RpcResponding)";
    return { type, status: "Unknown", reason: "NotCompared", message: `The node's ${what} is unknown.` };
  }
  const neededReleases = list
    .flatMap((row) => (row.minVersionAt === undefined ? [] : [{ ...row, minVersionAt: row.minVersionAt }]))
    .filter((row) => !isAtLeast(version, row.version))
    .toSorted((a, b) => a.minVersionAt - b.minVersionAt);
  // The release for the last height that has been reached applies.
  const passedRelease = neededReleases.findLast(({ minVersionAt }) => minVersionAt <= height);
  const nextRelease = neededReleases.find(({ minVersionAt }) => minVersionAt > height);
  if (passedRelease !== undefined)
    return { type, status: "False", reason: "Outdated", message: explainPassed(passedRelease, node) };
  if (nextRelease === undefined) {
    const message = `${version.text} is recent enough for all listed heights.`;
    return { type, status: "True", reason: "Supported", message };
  }
  const leftSeconds = computeSecondsUntil(nextRelease, node);
  const message = explainComing(nextRelease, node, leftSeconds);
  // If the rate of blocks is unknown, so is the time left.
  if (leftSeconds === undefined) return { type, status: "Unknown", reason: "NotCompared", message };
  return leftSeconds <= warnBeforeSeconds
    ? { type, status: "False", reason: "OutdatedSoon", message }
    : { type, status: "True", reason: "Supported", message };
}

function isAtLeast({ release }: NodeVersion, text: string): boolean {
  const parsedVersion = parseNodeVersion(text);
  return parsedVersion === undefined || gte(release, parsedVersion.release);
}

function computeSecondsUntil({ minVersionAt }: Needed, { height, secondsPerBlock }: RunningNode): number | undefined {
  return height === undefined || secondsPerBlock === undefined ? undefined : (minVersionAt - height) * secondsPerBlock;
}

function explainPassed(row: Needed, { version, height }: RunningNode): string {
  return `The node is ${version?.text} at block ${height}; from block ${row.minVersionAt}, the chain requires ${row.version}${formatNote(row)}. Upgrade it now: gatehouse upgrade.`;
}

function explainComing(row: Needed, { version, height, nowMs }: RunningNode, leftSeconds: number | undefined): string {
  const when =
    leftSeconds === undefined
      ? "time unknown, because the node has returned no block timestamps yet"
      : leftSeconds > yearSeconds
        ? "in more than a year at the current rate"
        : `about ${formatRoundedTime(nowMs + leftSeconds * 1_000)} at the current rate`;
  return (
    `The node is ${version?.text}; from block ${row.minVersionAt} (${when}; now at ${height}), the chain requires ${row.version}${formatNote(row)}. ` +
    "Upgrade it before then: gatehouse upgrade."
  );
}

function formatNote({ note }: Needed): string {
  return note === undefined ? "" : ` (${note})`;
}

const yearSeconds = 366 * 86_400;

/** Formats a time to the hour: an estimate that changes at each check is useless. */
function formatRoundedTime(ms: number): string {
  const hourMs = 3_600_000;
  return new Date(Math.round(ms / hourMs) * hourMs).toISOString().replace(/:\d\d\.\d+Z$/, "Z");
}
