import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { printLlms } from "./llms.ts";

const root = join(import.meta.dirname, "../..");

it("llms.txt matches the pages, and links only to pages that exist", () => {
  const text = readFileSync(join(root, "llms.txt"), "utf8");
  expect(text).toBe(printLlms());
  const pages = [...text.matchAll(/\]\(([^)]+)\): (.+)$/gm)];
  expect(pages.length).toBeGreaterThan(40);
  for (const [line, page = "", sentence = ""] of pages) {
    expect(existsSync(join(root, page)), line).toBe(true);
    expect(sentence.length, line).toBeGreaterThan(15);
  }
});
