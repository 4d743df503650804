import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withAuditActions } from "./reference.ts";

test("docs/logs.md lists every action of the audit log, as `npm run docs` prints them", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/logs.md"), "utf8");
  expect(withAuditActions(page)).toBe(page);
});
