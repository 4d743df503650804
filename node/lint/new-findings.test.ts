import { expect, test } from "vitest";
import { parseNodeVersion } from "../versions.ts";
import { lintConfig } from "./lint-config.ts";
import { formatFinding, preventsStart, listNewFindings } from "./new-findings.ts";

const lint = (conf: string) => lintConfig(Buffer.from(conf), parseNodeVersion("0.16.2"));

test("ignores earlier findings that moved to another line", () => {
  const before = lint('{ "chain": { "http_port": "a" } }');
  const found = lint('\n\n{ "chain": { "http_port": "a" } }');
  expect(found.length).toBeGreaterThan(0);
  expect(listNewFindings(found, before)).toEqual([]);
  expect(listNewFindings(found, [])).toEqual(found);
});

test("reports on one line that an unreadable file prevents the node's start", () => {
  const [finding] = lint("{");
  expect(finding && preventsStart(finding)).toBe(true);
  expect(finding && formatFinding(finding)).toMatch(/^node\.conf, line 1: .* or write the whole file again\.$/);
});
