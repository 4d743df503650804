import { cutText } from "../secrets/cut-text.ts";
import { existsSync } from "node:fs";
import type { Logger } from "../log/log.ts";
import { neverLogged } from "../log/log-fields.ts";
import type { Mask } from "../secrets/mask.ts";
import { version } from "../version.ts";
import type { AuditEntry } from "./audit-entry.ts";
import { openAuditFile, type AuditFile, type AuditFileOptions } from "./audit-file.ts";

export type AuditDependencies = Readonly<{
  service: string;
  log: Logger;
  mask: Mask;
  /** Milliseconds since 1970. */
  clock: () => number;
  /** Whether the disk may be touched now; a file system that hangs would hold up the whole process. */
  isReachable?: () => boolean;
}>;

/**
 * An append-only log of changes, one JSON line each. What is added is on the disk before the call ends, unless the disk does not take it: then
 * it is kept in memory, the log says so, and it is written as soon as that can be done. What is added before
 * it is done may be in the log twice after a kill, and is never missing.
 */
export type AuditLog = Disposable &
  Readonly<{
    add: (entries: readonly AuditEntry[]) => Promise<void>;
    /** The same, for a caller that can't wait. */
    addNow: (entry: AuditEntry) => void;
  }>;

/** Lines that wait for a disk; older ones are given up for newer ones, and counted. */
const waitingMax = 1_000;

/** Longest line; of a longer one what was before and after is left out. */
const lineMax = 65_536;

const retryMs = 10_000;

/** Bounds and path of an audit log; without a path, changes are written to the service's own log only. */
type AuditLogOptions = Omit<AuditFileOptions, "path"> & Readonly<{ path?: string | undefined }>;

/** Opens the audit log of a service; its first line shows what an earlier process left half written. */
export function openAuditLog(options: AuditLogOptions, dependencies: AuditDependencies): AuditLog {
  const { path } = options;
  return path === undefined ? reportInLog(dependencies) : openWithFile({ ...options, path }, dependencies);
}

/** Creates an audit log that writes to the service's own log, for replicas, whose ledger is a database and whose disk is not kept. */
function reportInLog({ log }: AuditDependencies): AuditLog {
  const addNow = ({ action, message, ...change }: AuditEntry) =>
    log.info({ event: "change-made", action, ...change }, message);
  return {
    addNow,
    add: async (entries) => entries.forEach(addNow),
    [Symbol.dispose]: () => undefined,
  };
}

function openWithFile(options: AuditFileOptions, dependencies: AuditDependencies): AuditLog {
  const { log, isReachable = () => true } = dependencies;
  const { path } = options;
  let file: AuditFile | undefined;
  const waiting = createWaitingLines(dependencies);
  let isFailing = false;
  const reportFailure = (err: unknown, taken?: TakenLines) => {
    if (taken !== undefined) waiting.putBack(taken);
    if (!isFailing) log.error({ event: "audit-not-written", err, path }, "changes can't be written to the audit log");
    isFailing = true;
  };
  const openOnce = (): AuditFile => {
    if (file !== undefined) return file;
    file = openAuditFile(options);
    waiting.putTorn(file.torn);
    return file;
  };
  /** Appends what waits; what was appended, or undefined when the disk does not take it now. */
  const write = (): TakenLines | undefined => {
    if (!isReachable()) return undefined;
    let taken: TakenLines | undefined;
    try {
      const to = openOnce();
      taken = waiting.drain();
      if (taken.lines.length > 0) waiting.putTorn(to.append(taken.lines.join("")));
      if (isFailing) log.info({ event: "audit-written-again", path }, "changes are written to the audit log again");
      isFailing = false;
      return taken;
    } catch (error) {
      reportFailure(error, taken);
      return undefined;
    }
  };
  const writeAndSync = () => {
    const taken = write();
    if (taken === undefined) return;
    try {
      file?.syncNow();
    } catch (error) {
      reportFailure(error, taken);
    }
  };
  const timer = setInterval(() => {
    if (waiting.some()) writeAndSync();
  }, retryMs).unref();
  // What a kill left is healed at the start, not at the next change; before the first change there is no file.
  if (isReachable() && existsSync(path)) writeAndSync();
  return {
    add: async (entries) => {
      entries.forEach(waiting.put);
      const taken = write();
      if (taken === undefined) return;
      try {
        await file?.sync();
      } catch (error) {
        reportFailure(error, taken);
      }
    },
    addNow: (entry) => {
      waiting.put(entry);
      writeAndSync();
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
      if (waiting.some()) writeAndSync();
      if (isReachable()) file?.[Symbol.dispose]();
    },
  };
}

/** Lines on their way to the file, and how many were given up before them. */
type TakenLines = Readonly<{ lines: readonly string[]; lost: number }>;

/** Lines that are not in the file yet. */
function createWaitingLines(dependencies: AuditDependencies) {
  let lines: string[] = [];
  let lost = 0;
  const shorten = () => {
    lost += Math.max(0, lines.length - waitingMax);
    lines = lines.slice(-waitingMax);
  };
  return {
    put: (entry: AuditEntry) => {
      lines.push(formatLine(entry, dependencies));
      if (lines.length > waitingMax) shorten();
    },
    /** Reports first what was cut off, if anything was. */
    putTorn: (torn: string | undefined) => {
      if (torn === undefined) return;
      const message = "A line that was not written to its end was cut off.";
      lines.unshift(formatLine({ ...byItself, action: "audit-log-healed", message, before: torn }, dependencies));
    },
    some: () => lines.length > 0 || lost > 0,
    drain: (): TakenLines => {
      const taken = { lines: lost === 0 ? lines : [...lines, formatLine(formatLost(lost), dependencies)], lost };
      lines = [];
      lost = 0;
      return taken;
    },
    /** Puts what the disk did not take before what was added since. */
    putBack: (taken: TakenLines) => {
      const own = taken.lost === 0 ? taken.lines : taken.lines.slice(0, -1);
      lines = [...own, ...lines];
      lost += taken.lost;
      shorten();
    },
  };
}

function formatLost(lost: number): AuditEntry {
  const message = `${lost} changes are missing here: the disk did not take them.`;
  return { ...byItself, action: "audit-lines-lost", outcome: "failure", message };
}

const byItself = { outcome: "success", by: "the service itself" } as const;

function formatLine(entry: AuditEntry, dependencies: AuditDependencies): string {
  const line = formatJson(entry, dependencies);
  if (line.length <= lineMax) return line;
  const { before: _before, after: _after, ...rest } = entry;
  return formatJson(
    {
      ...rest,
      message: cutText(rest.message, 1_000),
      reason: rest.reason === undefined ? undefined : cutText(rest.reason, 1_000),
    },
    dependencies,
  );
}

/** Formats an entry as a line of JSON, with fields named as those of the log. */
function formatJson(entry: AuditEntry, { service, mask, clock }: AuditDependencies): string {
  const { action, outcome, by, message, reason, before, after, payment } = entry;
  const fields = {
    "@timestamp": new Date(clock()).toISOString(),
    "event.action": action,
    "event.outcome": outcome,
    "event.reason": reason,
    "user.name": by,
    message,
    "service.name": service,
    "service.version": version,
    gatehouse:
      before === undefined && after === undefined && payment === undefined ? undefined : { payment, before, after },
  };
  return `${mask.text(JSON.stringify(fields, replaceSecrets))}\n`;
}

function replaceSecrets(key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return neverLogged.includes(key) ? "[secret]" : value;
}
