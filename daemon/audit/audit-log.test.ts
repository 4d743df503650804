import { expect, test } from "vitest";
import { createLog } from "../log/log.ts";
import { createMask } from "../secrets/mask.ts";
import { type AuditEntry, createAuditLog } from "./audit-log.ts";

const change: AuditEntry = { action: "node-restart", outcome: "success", by: "sidecar", message: "The node is back." };

function written(level: string) {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const mask = createMask();
  mask.hide("http://user:planted-password@127.0.0.1:1/");
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return { lines, audit: createAuditLog(createLog({ service: "test", level, mask }, { write })) };
}

test("logs a change even at level error, without a key, signature or password", () => {
  const { lines, audit } = written("error");
  const after = { signature: "planted-secret", deep: { privateKey: "planted-secret" } };
  audit.add({ ...change, reason: "http://user:planted-password@127.0.0.1:1/", before: { sha256: "a" }, after });
  expect(lines).toMatchObject([
    {
      "event.action": "change-made",
      "service.name": "test",
      message: "The node is back.",
      gatehouse: { action: "node-restart", outcome: "success", by: "sidecar", before: { sha256: "a" } },
    },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/planted-(secret|password)/);
});

test("logs no change if the log is silent", () => {
  const { lines, audit } = written("silent");
  audit.add(change);
  expect(lines).toEqual([]);
});
