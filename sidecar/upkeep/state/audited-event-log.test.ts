import { expect, test } from "vitest";
import type { AuditEntry } from "#daemon/audit/audit-log.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { auditEvents } from "./stored-event-log.ts";

test("logs a change that fails on every reconcile only once until it succeeds", () => {
  const entries: Pick<AuditEntry, "action" | "outcome">[] = [];
  const events = auditEvents(createRecentEvents({ wallMs: () => 0, monotonicMs: () => 0 }), {
    add: ({ action, outcome }) => entries.push({ action, outcome }),
  });
  const change = { by: "the sidecar", outcome: "failure" } as const;
  const failBoth = () => {
    events.fail("write", "node.conf was not written.", "the disk is full", change);
    events.fail("prune", "Auto-pruning was not enabled.", "node_cli failed", change);
  };
  for (let pass = 0; pass < 5; pass += 1) failBoth();
  const [write, prune] = ["node-conf-written", "auto-pruning-switched-on"].map((action) => ({
    action,
    outcome: "failure",
  }));
  expect(entries).toEqual([write, prune]);
  events.add("prune", "Auto-pruning was enabled.", undefined, { ...change, outcome: "success" });
  failBoth();
  expect(entries.slice(2)).toEqual([{ ...prune, outcome: "success" }, prune]);
  for (let pass = 0; pass < 5; pass += 1) events.begin("volume", "Expanding the volume.", undefined, { by: "sidecar" });
  expect(entries.slice(4)).toEqual([{ action: "volume-grown", outcome: "unknown" }]);
});
