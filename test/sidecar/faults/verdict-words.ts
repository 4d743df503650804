import { findConditionTitle, type Condition } from "#status/condition.ts";
import type { Verdict } from "#status/verdict.ts";
import { findConditionStatus } from "./condition-status.ts";
import type { Shown } from "./fault.ts";

/** Formats the verdict as an operator reads it: its headline, and the text below. */
export function formatVerdict({ title, message }: Verdict): string {
  return `${title}. ${message}`;
}

/**
 * Returns how the verdict's text must start: the headline, and the name of the fault's own area. `…` matches anything.
 */
export function expectVerdictText({ verdict, condition: [type, reason], reads }: Omit<Shown, "readyz">): string {
  const status = findConditionStatus(type, reason);
  // The tables tie each reason to its type, but the compiler loses that here.
  const side = findConditionTitle({ type, status, reason } as Condition);
  // Why nothing manages the node is reported in full; earlier problems are reported by name.
  const unknown = status === "False" && type !== "Reconciling" ? side : reads;
  switch (verdict) {
    case "paused":
      return "Paused: the node needs your attention. A restart or an upgrade failed, and the sidecar makes no changes";
    case "down":
      return `The node is down. It is not ready for traffic: …${side}`;
    case "waiting":
      return "The node serves; the sidecar is waiting for your approval. It has changed nothing.";
    case "degraded":
      return `The node serves, but … fail…. ${type === "CallsSucceeding" ? "Some calls fail" : "Clients are still served"}. …${side}`;
    case "working":
      return `The sidecar is fixing the node. No action needed yet. ${reads}`;
    case "unknown":
      return `Not known…${unknown}`;
    case "healthy":
      return "The node is healthy. No action needed:";
  }
}
