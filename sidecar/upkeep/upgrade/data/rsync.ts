import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { runProcess } from "#daemon/process/bounded-process.ts";
import { waitUntil } from "#daemon/time.ts";

/** Max output from rsync to keep for a message. */
const outputLimitBytes = 65_536;

/** Time limit for a program that only prints information about itself (e.g. --version), and for a killed process to exit. */
const briefMs = 10_000;

/** Exit status that rsync returns if files vanished during the run (rsync(1), EXIT VALUES). */
const vanishedStatus = 24;

/**
 * Options that preserve the same things as `cp -a`: hard links, ACLs, extended attributes and holes, and numeric owners. Deletes files that
 * the source no longer has.
 */
const copies = ["-aHAXS", "--numeric-ids", "--delete", "--force"] as const;

export type RsyncOptions = Readonly<{
  from: string;
  to: string;
  /** Whether other processes get priority for disk and CPU. */
  isLow: boolean;
  /** Whether to compare files of the same size by content; otherwise files with the same size and modification time count as equal. */
  comparesContent: boolean;
  timeoutMs: number;
  signal: AbortSignal;
}>;

/** Result of an rsync run; `vanished`: files were removed during the run. */
export type RsyncResult = Readonly<{ ok: true; vanished: boolean } | { ok: false; isLate: boolean; why: string }>;

/** Mirrors one directory to another. The signal kills rsync at once, with all its processes. */
export async function runRsync(options: RsyncOptions): Promise<RsyncResult> {
  const { from, to, isLow, comparesContent, timeoutMs, signal } = options;
  const compares = comparesContent ? ["--checksum"] : [];
  const rsync = ["rsync", ...copies, ...compares, "--", `${from}/`, `${to}/`] as const;
  const [program, ...words] = isLow ? [...(await findLowPriority(signal)), ...rsync] : rsync;
  const command = [program ?? rsync[0], ...words] as const;
  const result = await runProcess({ command, directory: "/", timeoutMs, outputLimitBytes, signal });
  if (result.ok) return { ok: true, vanished: false };
  const { exitStatus, said = "", reason } = result;
  if (exitStatus === vanishedStatus) return { ok: true, vanished: true };
  const why = exitStatus === undefined ? result.message : `rsync exited with status ${exitStatus}: ${said}`;
  return { ok: false, isLate: reason === "TimedOut", why };
}

/** Finds the installed commands that give other processes priority for disk (ioprio_set(2), idle) and CPU. */
async function findLowPriority(signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = [];
  for (const command of [
    ["ionice", "-c3"],
    ["nice", "-n19"],
  ] as const) {
    if ((await runBriefly([...command, "true"], signal)).ok) found.push(...command);
  }
  return found;
}

/** Explains why there is no rsync that copies data faithfully, and the remedy; undefined if there is one. */
export async function explainNoRsync(signal: AbortSignal): Promise<string | undefined> {
  const version = await runBriefly(["rsync", "--version"], signal);
  const install = "install rsync (apt install rsync, dnf install rsync), or set upgrade.snapshot to auto";
  if (!version.ok) {
    const why = version.reason === "NotFound" ? "there is no rsync on the sidecar's PATH" : version.message;
    return `upgrade.snapshot is rsync, and ${why}; ${install}`;
  }
  const lacks = /^rsync\s+version/.test(version.output)
    ? /\bno (?:hardlinks|ACLs|xattrs)\b/.exec(version.output)
    : null;
  if (lacks === null && /^rsync\s+version/.test(version.output)) return undefined;
  return `upgrade.snapshot is rsync, and the one on the sidecar's PATH does not keep all that cp -a does (${lacks?.[0] ?? "it is another program"}); ${install}`;
}

/** Waits until all writes to a path's file system are on disk (sync(1), `-f`); returns the reason on failure. */
export async function syncFileSystem(
  path: string,
  { timeoutMs, signal }: Pick<RsyncOptions, "timeoutMs" | "signal">,
): Promise<string | undefined> {
  const command = ["sync", "-f", path] as const;
  const result = await runProcess({ command, directory: "/", timeoutMs, outputLimitBytes, signal });
  return result.ok ? undefined : result.message;
}

/**
 * Kills a killed sidecar's processes that are still copying to paths with a given prefix, because they would write there later. Returns
 * whether this machine's processes are visible at all.
 *
 * @throws {Error} when a process doesn't exit.
 */
export async function endWritersOf(prefix: string, signal: AbortSignal): Promise<boolean> {
  const end = async () => {
    const pids = await findCopiers(prefix);
    for (const pid of pids ?? []) sendSignal(pid, "SIGKILL");
    return pids;
  };
  const left = await waitUntil(end, (pids) => pids === undefined || pids.length === 0, {
    everyMs: 50,
    withinMs: briefMs,
    signal,
  });
  if (left === undefined) return false;
  if (left.length === 0) return true;
  throw new Error(`process ${left.join(", ")} still copies to ${prefix}… and can't be ended; end it by hand`);
}

/** Names of the copying programs used here. */
const copiers: ReadonlySet<string> = new Set(["rsync", "cp"]);

/**
 * Finds the processes that are copying to a path with the prefix; undefined if processes are invisible (not on Linux). Processes that only
 * read from there aren't the sidecar's.
 */
async function findCopiers(prefix: string): Promise<readonly number[] | undefined> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  if (!pids.includes(process.pid)) return undefined;
  const found: number[] = [];
  for (const pid of pids) {
    const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0").filter(Boolean);
    const isCopier = words.some((word) => copiers.has(basename(word)));
    if (isCopier && words.at(-1)?.startsWith(prefix) === true) found.push(pid);
  }
  return found;
}

function runBriefly(command: readonly [string, ...string[]], signal: AbortSignal) {
  return runProcess({ command, directory: "/", timeoutMs: briefMs, outputLimitBytes, signal });
}
