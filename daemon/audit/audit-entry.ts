/** Audited changes to money or a node: each log line's `event.action` and its meaning. */
export const auditActions = {
  "payment-settled": "A payment is on the chain: the payer was charged, the payee paid.",
  "payment-failed": "A settlement ended for good without a charge; the signer may have paid for gas.",
  "payment-charged": "The resource server learned that a payment is settled, and owes its response.",
  "node-conf-written": "The sidecar changed or restored node.conf, or could not.",
  "node-conf-edited":
    "Somebody else changed, removed or wrote node.conf, as the sidecar saw when it looked; the message names the keys, never a value.",
  "auto-pruning-switched-on": "The sidecar switched the node's auto-pruning on.",
  "node-restart": "A restart of the node began, ended, or failed.",
  "node-rolled-back": "The node did not come back, and its last healthy configuration was restored, or was not.",
  "hold-changed": "A hold was set, or lifted.",
  "sidecar-adopted": "A person let the sidecar act on the node.",
  "node-upgrade":
    "An upgrade of the node, or a restore of its data by the sidecar, was accepted or withdrawn, began, went on or ended.",
  "volume-grown": "The volume of the node's data was made larger.",
  "node-data-restored": "The node's data directory was filled from an archive.",
} as const;

export type AuditAction = keyof typeof auditActions;

/** An audited change. */
export type AuditEntry = Readonly<{
  action: AuditAction;
  /** `unknown` if another log line reports the outcome. */
  outcome: "success" | "failure" | "unknown";
  /** Actor: a user, an account or a service. */
  by: string;
  /** A sentence describing the change. */
  message: string;
  reason?: string | undefined;
  /** The affected payment, as identified in the ledgers. */
  payment?: string | undefined;
  before?: unknown;
  after?: unknown;
}>;
