import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import ts from "typescript";
import { listSourceFiles, root } from "./rooms.ts";

/** Words in names for which the field has one of its own, and that word (docs/glossary.md). */
const words = [
  { word: /giveBack|gaveBack|givenBack/i, instead: "release, of what was acquired" },
  { word: /departure/i, instead: "gracefulClose" },
  { word: /^news$|[a-z]News$|^news[A-Z]/, instead: "notification, or backfill" },
  { word: /courier/i, instead: "file delivery" },
  { word: /goneTier/i, instead: "fallbackTier" },
  { word: /spareMs$/i, instead: "graceMs" },
  { word: /patienceMs$/i, instead: "idleTimeoutMs" },
] as const;

/** Names in programs; a test may call a thing what it likes. */
const names = listSourceFiles()
  .filter((path) => !path.startsWith("test/") && !path.includes("/testing/") && !path.endsWith(".test.ts"))
  .flatMap(namesIn);

test.each(words)("no name has $word", ({ word, instead }) => {
  expect(names.length).toBeGreaterThan(10_000);
  const found = names.filter(({ name }) => word.test(name));
  expect(
    found.map(({ place, name }) => `${place}: ${name}`),
    `write ${instead}`,
  ).toEqual([]);
});

function namesIn(path: string): readonly Readonly<{ place: string; name: string }>[] {
  const source = ts.createSourceFile(path, readFileSync(join(root, path), "utf8"), ts.ScriptTarget.Latest);
  const found: Readonly<{ place: string; name: string }>[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push({ place: `${path}:${line + 1}`, name: node.text.replace(/^#/, "") });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
