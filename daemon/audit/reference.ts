import { formatTable, replaceMarkedSection } from "../markdown.ts";
import { auditActions } from "./audit-log.ts";

/** Inserts the table of audit actions into the text of docs/logs.md. */
export function withAuditActions(text: string): string {
  const rows = Object.entries(auditActions).map(([name, means]) => [`\`${name}\``, means]);
  const actionTable = formatTable(["action", "what was done"], rows).join("\n");
  return replaceMarkedSection(text, { page: "docs/logs.md", mark: "audit actions", marked: actionTable });
}
