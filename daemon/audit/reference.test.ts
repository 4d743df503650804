import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withAuditActions } from "./reference.ts";

test("docs/logs.md lists every action in the audit log, as printed by `npm run docs`", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/logs.md"), "utf8");
  expect(withAuditActions(page)).toBe(page);
});
