import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Parts of `llms.txt`, each with its pages. */
const parts: readonly (readonly [string, readonly string[]])[] = [
  ["Start", ["README.md", "docs/getting-started.md"]],
  ["Guides", ["docs/guides/*.md"]],
  ["Concepts", ["docs/concepts/*.md"]],
  ["Reference", ["docs/*.md"]],
  ["Parts", ["*/README.md"]],
];

/** Reads a page's heading, and the first sentence below it. */
function readSummary(page: string): Readonly<{ title: string; sentence: string }> {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/<!--[^]*?-->/g, "");
  const title = /^# (.+)$/m.exec(text)?.[1] ?? page;
  const paragraph =
    /^(?:\*\*)?[A-Za-z`][^]*?(?=\n\n|\n$|$)/m.exec(text.slice(text.indexOf(title) + title.length))?.[0] ?? "";
  const plain = paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("**", "")
    .replaceAll(/\s+/g, " ");
  return { title: title.replaceAll("`", ""), sentence: /^.+?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain };
}

/**
 * Prints an index of the pages for language models (llmstxt.org): what each is about, in a line, and where it stands from the root
 * of the repository.
 */
export function printLlms(): string {
  const listed = new Set<string>();
  const lines = parts.flatMap(([name, globs]) => {
    const pages = globSync([...globs], { cwd: root, exclude: ["dist/**", "node_modules/**"] }).toSorted();
    const fresh = pages.filter((page) => !listed.has(page));
    for (const page of fresh) listed.add(page);
    const items = fresh.map((page) => {
      const { title, sentence } = readSummary(page);
      return `- [${title}](${page}): ${sentence}`;
    });
    return [`## ${name}`, "", ...items, ""];
  });
  return ["# Gatehouse", "", `> ${readSummary("README.md").sentence}`, "", ...lines].join("\n");
}
