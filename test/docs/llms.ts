import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readContents } from "./contents.ts";

const root = join(import.meta.dirname, "../..");

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
 * Prints an index of the pages for language models (llmstxt.org): one line per page, with its topic and its path from
 * the root of the repository.
 */
export function printLlms(): string {
  const lines = readContents().flatMap(({ title, entries }) => [
    `## ${title}`,
    "",
    ...entries.map(({ page }) => {
      const summary = readSummary(page);
      return `- [${summary.title}](${page}): ${summary.sentence}`;
    }),
    "",
  ]);
  return ["# Gatehouse", "", `> ${readSummary("README.md").sentence}`, "", ...lines].join("\n");
}
