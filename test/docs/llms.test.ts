import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

it("llms.txt links only to pages that exist, each with a sentence on it", () => {
  const text = readFileSync(join(root, "llms.txt"), "utf8");
  const pages = [...text.matchAll(/\]\(([^)]+)\): (.+)$/gm)];
  expect(pages.length).toBeGreaterThan(40);
  for (const [line, page = "", sentence = ""] of pages) {
    expect(existsSync(join(root, page)), line).toBe(true);
    expect(sentence.length, line).toBeGreaterThan(15);
  }
});
