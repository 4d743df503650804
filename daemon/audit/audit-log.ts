import { existsSync } from "node:fs";
import type { Logger } from "../log.ts";
import { neverLogged } from "../log-fields.ts";
import type { Mask } from "../mask.ts";
import { version } from "../version.ts";
import type { AuditEntry } from "./audit-entry.ts";
import { openAuditFile, type AuditFile, type AuditFileOptions } from "./audit-file.ts";

/** What an audit log works with. */
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
 * it is kept in memory, the log says so, and it is written as soon as that can be done. After a kill a change may be told twice, never not at all,
 * because it is added before it is done with.
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

/** How an audit log is opened; without a path changes stand in the log of the service alone. */
type AuditLogOptions = Omit<AuditFileOptions, "path"> & Readonly<{ path?: string | undefined }>;

/** Opens the audit log of a service; what an earlier process left half written is told in its first line. */
export function openAuditLog(options: AuditLogOptions, dependencies: AuditDependencies): AuditLog {
  const { path } = options;
  return path === undefined ? tellInLog(dependencies) : openWithFile({ ...options, path }, dependencies);
}

/** For replicas, whose ledger is a database and whose disk is not kept. */
function tellInLog({ log }: AuditDependencies): AuditLog {
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
  const failed = (err: unknown) => {
    if (!isFailing) log.error({ event: "audit-not-written", err, path }, "changes can't be written to the audit log");
    isFailing = true;
  };
  const opened = (): AuditFile => {
    if (file !== undefined) return file;
    file = openAuditFile(options);
    if (file.torn === undefined) return file;
    const message = "A line that was not written to its end was cut off.";
    waiting.putFirst({ ...byItself, action: "audit-log-healed", message, before: file.torn });
    return file;
  };
  const write = (): boolean => {
    if (!isReachable()) return false;
    try {
      const to = opened();
      const text = waiting.text();
      if (text !== "") to.append(text);
      waiting.clear();
      if (isFailing) log.info({ event: "audit-written-again", path }, "changes are written to the audit log again");
      isFailing = false;
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  };
  const writeAndSync = () => {
    try {
      if (write()) file?.syncNow();
    } catch (error) {
      failed(error);
    }
  };
  const timer = setInterval(() => {
    if (waiting.text() !== "") writeAndSync();
  }, retryMs).unref();
  // What a kill left is healed at the start, not at the next change; a log of no change is no file.
  if (isReachable() && existsSync(path)) writeAndSync();
  return {
    add: async (entries) => {
      entries.forEach(waiting.put);
      if (!write()) return;
      try {
        await file?.sync();
      } catch (error) {
        failed(error);
      }
    },
    addNow: (entry) => {
      waiting.put(entry);
      writeAndSync();
    },
    [Symbol.dispose]: () => {
      clearInterval(timer);
      if (waiting.text() !== "") writeAndSync();
      if (isReachable()) file?.[Symbol.dispose]();
    },
  };
}

/** Lines that are not in the file yet. */
function createWaitingLines(dependencies: AuditDependencies) {
  let lines: string[] = [];
  let lost = 0;
  return {
    put: (entry: AuditEntry) => {
      lines.push(lineOf(entry, dependencies));
      if (lines.length <= waitingMax) return;
      lines.shift();
      lost += 1;
    },
    putFirst: (entry: AuditEntry) => void lines.unshift(lineOf(entry, dependencies)),
    text: () => {
      if (lost === 0) return lines.join("");
      const message = `${lost} changes are missing here: the disk did not take them.`;
      const told = lineOf({ ...byItself, action: "audit-lines-lost", outcome: "failure", message }, dependencies);
      return [...lines, told].join("");
    },
    clear: () => {
      lines = [];
      lost = 0;
    },
  };
}

const byItself = { outcome: "success", by: "the service itself" } as const;

function lineOf(entry: AuditEntry, dependencies: AuditDependencies): string {
  const line = jsonOf(entry, dependencies);
  if (line.length <= lineMax) return line;
  const { before: _before, after: _after, ...rest } = entry;
  return jsonOf({ ...rest, message: rest.message.slice(0, 1_000), reason: rest.reason?.slice(0, 1_000) }, dependencies);
}

/** The fields of a line, as those of the log have them. */
function jsonOf(entry: AuditEntry, { service, mask, clock }: AuditDependencies): string {
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
  return `${mask.text(JSON.stringify(fields, hideSecrets))}\n`;
}

function hideSecrets(key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return neverLogged.includes(key) ? "[secret]" : value;
}
