import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/attacks.md"), "utf8");
const entries = page.split("\n- **").slice(1);

test.each(entries.map((entry) => [entry.split("**")[0] ?? "", entry]))("%s is a test", (name, entry) => {
  const elsewhere = /`((?:test|client|facilitator)\/[^`]+\.test\.ts)`/.exec(entry)?.[1];
  const file = join(root, elsewhere ?? "test/x402/published-attacks.integration.test.ts");
  expect(existsSync(file), file).toBe(true);
  if (elsewhere === undefined) expect(readFileSync(file, "utf8")).toContain(`test("${name.toLowerCase()}: `);
});
