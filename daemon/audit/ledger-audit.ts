import { dirname, join } from "node:path";
import { openAuditLog, type AuditDependencies, type AuditLog } from "./audit-log.ts";
import type { AuditSettings } from "./audit-settings.ts";

/** Place of a service's ledger: a file, or a database that it shares with other replicas. */
type LedgerSettings = Readonly<{ path?: string | undefined; url?: unknown }>;

/** Opens the audit log of a service with a ledger, by default next to the ledger's file; `isHandedOver` if two of its processes may write to it. */
export function openLedgerAudit(
  { auditLog, ledger }: Readonly<{ auditLog: AuditSettings; ledger: LedgerSettings }>,
  { defaultLedgerPath, isHandedOver }: Readonly<{ defaultLedgerPath: string; isHandedOver: boolean }>,
  dependencies: AuditDependencies,
): AuditLog {
  const locate = () => join(dirname(ledger.path ?? defaultLedgerPath), `${dependencies.service}-audit.jsonl`);
  const path = auditLog.path ?? (ledger.url === undefined ? locate() : undefined);
  return openAuditLog({ ...auditLog, path, isShared: isHandedOver }, dependencies);
}
