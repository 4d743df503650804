import type { Logger } from "../log/log.ts";
import type { AuditEntry } from "./audit-entry.ts";

/** Reports changes of money and of a node. */
export type AuditLog = Readonly<{ add: (entry: AuditEntry) => void }>;

/** Creates an audit log: events `change-made` of the service's own log, whatever its level is, unless that is `silent`. */
export function createAuditLog(log: Logger): AuditLog {
  const lines = log.level === "silent" ? log : log.child({}, { level: "info" });
  return { add: ({ message, ...change }) => lines.info({ event: "change-made", ...change }, message) };
}

/** What replaces the settings of the audit file, for those who still set them. */
export const removedAuditLog = "changes are in the service's log as change-made (docs/logs.md)";
