import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listPages, listSourceFiles, root } from "./rooms.ts";

/** Phrases that no native engineer writes, and what to write instead. */
const phrases = [
  { phrase: /\banew\b/, instead: "again, or a verb: recreate, rewrite, start over" },
  { phrase: /\bbeside\b/, instead: "next to, besides, alongside or with" },
  { phrase: /\btells? (?:that|of)\b/, instead: "says, shows, reports, or the noun itself: conditions about node.conf" },
  {
    // A setting may be none: `restart.driver is none`. So may what a place holds: where there is none.
    phrase: /(?<!there |driver |runner |runner` )\b(?:is|are|was|were) none\b/,
    instead: "what it is not: is no address, is invalid, is not one of them",
  },
  // Not `for (const pid of before)`.
  { phrase: /\bof before\b(?!\)| ===)/, instead: "old, previous, earlier or former" },
  { phrase: /\bcan't be asked\b/, instead: "can't be queried" },
  { phrase: /\btaken back\b/, instead: "rolled back, reverted or withdrawn" },
  { phrase: /\b(?:is|are|was|were) told (?:once|again|of|as|at|only)\b/, instead: "is reported, shown or returned" },
  { phrase: /\b(?:does|do|did) not tell\b|\bnothing tells\b/, instead: "does not report, return or say" },
  { phrase: /\btells? no (?:version|height|block)\b/, instead: "reports no version" },
  {
    phrase: /^\/\*\* What [\w` '.-]+ (?:works? with|(?:is|are) made (?:with|of)|takes|needs)\. \*\/$/,
    instead: "purpose, shape, units or errors of the type, or nothing: its name says the rest",
  },
  { phrase: /\b[Aa]n? (?:[\w`-]+ ){1,3}of (?:its|their|your|one's) own\b/, instead: "its own …, or a separate …" },
] as const;

/** Where the phrases stand as phrases. */
const exceptions = new Set(["test/style/prose.test.ts", "test/style/words.test.ts", "CHANGELOG.md"]);

/** Generated from the code, which is read itself. */
const generated = /^(?:docs\/(?:settings|rpc-methods|conditions|log-events|faults)\.md|llms\.txt)$/;

const texts = [...listSourceFiles(), ...listPages()]
  .filter((path) => !exceptions.has(path) && !generated.test(path))
  .map((path) => ({ path, lines: readFileSync(join(root, path), "utf8").split("\n") }));

test.each(phrases)("nobody writes $phrase", ({ phrase, instead }) => {
  expect(texts.length).toBeGreaterThan(1_000);
  const found = texts.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) => (phrase.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
  );
  expect(found, `write ${instead}`).toEqual([]);
});
