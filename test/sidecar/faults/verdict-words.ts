import { findConditionTitle, type Condition } from "#status/condition.ts";
import type { Verdict } from "#status/verdict.ts";
import { findConditionStatus } from "./condition-status.ts";
import type { Shown } from "./fault.ts";

/** Formats the verdict as a person reads it: its headline, and what stands below. */
export function formatVerdict({ title, message }: Verdict): string {
  return `${title}. ${message}`;
}

/** Returns how the verdict's text has to begin: the headline, and the fault's own side by its name. `…` stands for anything. */
export function expectVerdictText({ verdict, condition: [type, reason], reads }: Omit<Shown, "readyz">): string {
  const status = findConditionStatus(type, reason);
  // The tables tie each reason to its type, which the compiler loses here.
  const side = findConditionTitle({ type, status, reason } as Condition);
  // Why nobody looks after the node is said in full; what was wrong when somebody still did, by its name.
  const unknown = status === "False" && type !== "Reconciling" ? side : reads;
  switch (verdict) {
    case "paused":
      return "Paused: the node needs you. A restart or an upgrade went wrong, and the sidecar changes nothing more";
    case "down":
      return `The node is down. It is not fit for traffic: …${side}`;
    case "waiting":
      return "The node serves; the sidecar waits for your approval. It has changed nothing.";
    case "degraded":
      return `The node serves, but … fail…. ${type === "CallsSucceeding" ? "Not every client gets an answer" : "Clients are served meanwhile"}. …${side}`;
    case "working":
      return `The sidecar is fixing the node. Nothing for you to do yet. ${reads}`;
    case "unknown":
      return `Not known…${unknown}`;
    case "healthy":
      return "The node is right. Nothing to do:";
  }
}
