import type { Logger } from "../log/log.ts";

/** Audited changes to money or a node: each log line's `event.action` and its meaning. */
export const auditActions = {
  "payment-settled": "A payment is on chain: the payer was charged and the payee was paid.",
  "payment-failed": "A settlement failed for good without a charge; the signer may have paid for gas.",
  "payment-charged": "The resource server learned that a payment is settled; the response is still to be delivered.",
  "node-conf-written": "The sidecar changed or restored node.conf, or failed to.",
  "node-conf-edited":
    "The sidecar found node.conf changed, removed or created by another program or user; the message has the keys, never a value.",
  "auto-pruning-switched-on": "The sidecar enabled the node's auto-pruning.",
  "node-restart": "A restart of the node started, completed or failed.",
  "node-rolled-back": "The node did not recover; its last healthy configuration was restored, or could not be.",
  "hold-changed": "The sidecar paused or resumed.",
  "sidecar-adopted": "An operator approved that the sidecar acts on the node.",
  "node-upgrade": "An upgrade of the node was accepted, started, continued or ended.",
  "volume-grown": "The node's data volume was expanded.",
  "node-data-restored": "The node's data directory was restored from an archive.",
} as const;

export type AuditAction = keyof typeof auditActions;

export type AuditEntry = Readonly<{
  action: AuditAction;
  /** `unknown` if another log line reports the outcome. */
  outcome: "success" | "failure" | "unknown";
  /** Actor: a user, an account or a service. */
  by: string;
  message: string;
  reason?: string | undefined;
  /** The affected payment, as identified in the ledgers. */
  payment?: string | undefined;
  before?: unknown;
  after?: unknown;
}>;

export type AuditLog = Readonly<{ add: (entry: AuditEntry) => void }>;

/** Creates an audit log that writes `change-made` events to the service's own log, at any log level except `silent`. */
export function createAuditLog(log: Logger): AuditLog {
  const lines = log.level === "silent" ? log : log.child({}, { level: "info" });
  return { add: ({ message, ...change }) => lines.info({ event: "change-made", ...change }, message) };
}
