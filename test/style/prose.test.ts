import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { expect, test } from "vitest";
import { listPages, listSourceFiles, root } from "./rooms.ts";

/** Phrases that no native engineer writes, and what to write instead. Small and capital letters count the same. */
const phrases = [
  { phrase: /\banew\b/i, instead: "again, or a verb: recreate, rewrite, start over" },
  { phrase: /\bbeside\b/i, instead: "next to, besides, alongside or with" },
  {
    phrase: /\btells? (?:that|of)\b/i,
    instead: "says, shows, reports, or the noun itself: conditions about node.conf",
  },
  {
    // A setting may be none: `restart.driver is none`. So may what a place holds: where there is none.
    phrase: /(?<!there |driver |runner |runner` )\b(?:is|are|was|were) none\b/i,
    instead: "what it is not: is not an address, is invalid, is not one of them",
  },
  {
    phrase:
      /(?<!there |why )\bis no (?:address|amount|file|JSON(?:-RPC)?|list|number|object|path|price|regular file|text|URL|version)\b/i,
    instead: "is not an address, is not JSON",
  },
  // Not `for (const pid of before)`.
  { phrase: /\bof before\b(?!\)| ===)/i, instead: "old, previous, earlier or former" },
  {
    // A person is asked; a process or the page is told.
    phrase:
      /(?<!\b(?:person|nobody|who) )\b(?:could not|can't|was|is|are|were) (?:be )?asked\b(?! (?:to confirm|first|for confirmation))/i,
    instead: "could not be reached, is queried, requested, sent, read, run or checked",
  },
  { phrase: /\bcould ask\b/i, instead: "could not be reached" },
  { phrase: /\b(?:un)?mend(?:s|ed|ing)?\b/i, instead: "fix, of a cause; repair, of the node and its files" },
  { phrase: /\bgone on with\b/i, instead: "is resumed, or is continued" },
  { phrase: /\bnone to go back to\b/i, instead: "useless for a roll-back" },
  { phrase: /\btaken back\b/i, instead: "rolled back, reverted or withdrawn" },
  { phrase: /\b(?:is|are|was|were) told (?:once|again|of|as|at|only)\b/i, instead: "is reported, shown or returned" },
  { phrase: /\b(?:does|do|did) not tell\b|\bnothing tells\b/i, instead: "does not report, return or say" },
  { phrase: /\btells? no (?:version|height|block)\b/i, instead: "reports no version" },
  {
    phrase: /^\/\*\* What [\w` '.-]+ (?:works? with|(?:is|are) made (?:with|of)|takes|needs)\. \*\/$/i,
    instead: "purpose, shape, units or errors of the type, or nothing: its name says the rest",
  },
  {
    // Not `what is left of its own memory`.
    phrase:
      /\bof (?:its|their|your|one's|our) own(?=[.,;:!?)"*]|\s*$| (?:and|or|but|which|that|who|to|is|are|alone|besides)\b)|\ban? (?:[\w`-]+ ){1,3}of (?:its|their|your|one's|our) own\b/i,
    instead: "its own …, or a separate …",
  },
] as const;

/**
 * American spellings of words that are written in British here. Names keep the spelling of their field: CSS, RPC, npm, and the terms
 * authorization (EIP-3009) and finalizer (Kubernetes).
 */
const american =
  /\b(?:recogniz|behavior|reorganiz|organiz|finaliz(?!ers?\b)|color|licenses?\b|normaliz|summariz|optimiz|artifact|gray\b|initializ|memoiz|analyz|capitaliz|synchroniz|neighbor|honor|fulfill\b|prioritiz|minimiz|customiz|utiliz|randomiz|judgment)\w*/i;

/** Files in which the phrases stand as phrases. */
const exceptions = new Set(["test/style/prose.test.ts", "test/style/words.test.ts", "CHANGELOG.md"]);

/** Generated from the code, which is read itself. */
const generated = /^(?:docs\/(?:settings|rpc-methods|conditions|log-events|faults)\.md|llms\.txt)$/;

/** Comments and texts of people stand in these, too: the page, images, pipelines and examples. */
const others = globSync(["**/*.{js,mjs,sh,yaml,yml}", "**/*Dockerfile", ".ci/*", "{.,examples/*}/.github/**/*.yml"], {
  cwd: root,
  exclude: (name) => ["node_modules", "dist", ".git", ".gatehouse", "generated"].includes(name),
}).map((path) => path.split(sep).join("/"));

const texts = [...new Set([...listSourceFiles(), ...listPages(), ...others])]
  .filter((path) => !exceptions.has(path) && !generated.test(path))
  .map((path) => ({ path, lines: readFileSync(join(root, path), "utf8").split("\n") }));

function countPhrases(line: string): number {
  return phrases.filter(({ phrase }) => phrase.test(line)).length;
}

/** Comments by their marks, which have white space before them. */
const comment = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;

/** Reads what is written in sentences: a page without its blocks of code, or a program's comments; both without names, links and tags. */
function readSentences({ path, lines }: (typeof texts)[number]): string {
  const text = lines.join("\n");
  const prose = path.endsWith(".md") ? text.replaceAll(/```[\s\S]*?```/g, "") : (text.match(comment) ?? []).join("\n");
  return prose.replaceAll(/`[^`\n]*`|\]\([^)]*\)|https?:\S+|\{@link[^}]*\}|@\w+/g, "");
}

test.each(phrases)("nobody writes $phrase", ({ phrase, instead }) => {
  expect(texts.length).toBeGreaterThan(1_000);
  const found = texts.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) => (phrase.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
  );
  expect(found, `write ${instead}`).toEqual([]);
});

test("sentences are spelt the British way", () => {
  const sentences = texts.filter(({ path }) => /\.(?:ts|js|mjs|md)$/.test(path));
  const found = sentences.flatMap((file) => {
    const [word] = american.exec(readSentences(file)) ?? [];
    return word === undefined ? [] : [`${file.path}: ${word}`];
  });
  expect(found).toEqual([]);
});

test("a sentence with such a word or phrase would be found, whatever its letters, and wherever it stands", () => {
  const paths = texts.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      "sidecar/page/assets/page.js",
      "infra/images/gatehouse.Dockerfile",
      ".ci/run",
      ".github/workflows/nightly.yml",
      "examples/gitops/scripts/lint.sh",
    ]),
  );
  expect(["Beside a node", "It could not be asked.", "It was Mended.", "a node of its own"].map(countPhrases)).toEqual([
    1, 1, 1, 1,
  ]);
  expect(["somebody is asked first", "besides a node", "of its own memory"].map(countPhrases)).toEqual([0, 0, 0]);
  expect(american.exec(readSentences({ path: "a.ts", lines: ['const color = "color"; // a color'] }))?.[0]).toBe(
    "color",
  );
});
