import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root, listSourceFiles } from "./rooms.ts";

const page = readFileSync(join(root, "docs/glossary.md"), "utf8");
const terms = [...page.matchAll(/^- \*\*(.+?)\*\* \(`([^`]+)`; (.*?)\): (.*)$/gm)].map(
  ([, term = "", place = "", source = "", meaning = ""]) => ({ term, meaning, source, place }),
);

/** Texts in which a term must occur: code and documents, without the glossary itself and the style tests. */
const texts = [
  ...listSourceFiles().filter((path) => !path.startsWith("test/style/")),
  ...globSync(["*.md", "docs/**/*.md", "*/README.md"], { cwd: root }).filter((path) => path !== "docs/glossary.md"),
].map((path) => `${path}\n${readFileSync(join(root, path), "utf8")}`);

function occurrences(term: string, among: readonly string[]): number {
  const pattern = new RegExp(term.split(/[ -]/).join("[\\s_-]*"), "i");
  return among.filter((text) => pattern.test(text)).length;
}

describe("docs/glossary.md", () => {
  it("defines each commonly searched term once", () => {
    const sought =
      "retry leader backfill status lease drain pause adopt drift roll-back tier audience settlement nonce replica";
    expect(terms.map(({ term }) => term)).toEqual(expect.arrayContaining([...sought.split(" "), "graceful close"]));
    expect(new Set(terms.map(({ term }) => term)).size).toBe(terms.length);
  });

  it.each(terms)("$term has a meaning and a source, occurs in code or documents, and names an existing file", (row) => {
    expect([row.meaning, row.source]).not.toContain("");
    expect(occurrences(row.term, texts)).toBeGreaterThan(0);
    const named = texts.filter((text) => text.startsWith(`${row.place}\n`));
    expect(named).toHaveLength(1);
  });
});
