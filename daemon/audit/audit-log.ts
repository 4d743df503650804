import type { Logger } from "../log/log.ts";
import type { AuditEntry } from "./audit-entry.ts";

export type AuditLog = Readonly<{ add: (entry: AuditEntry) => void }>;

/** Creates an audit log that writes `change-made` events to the service's own log, at any log level except `silent`. */
export function createAuditLog(log: Logger): AuditLog {
  const lines = log.level === "silent" ? log : log.child({}, { level: "info" });
  return { add: ({ message, ...change }) => lines.info({ event: "change-made", ...change }, message) };
}

/** Replacement of the removed audit file settings, for operators who still set them. */
export const auditLogReplacement = "changes are in the service's log as change-made (docs/logs.md)";
