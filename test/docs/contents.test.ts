import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listPagesBelow, readContents } from "./contents.ts";

const root = join(import.meta.dirname, "../..");

it("lists every page once in docs/README.md", () => {
  const pages = globSync(["*.md", "*/README.md", "{docs,examples,infra}/**/*.md"], {
    cwd: root,
    exclude: ["node_modules/**", "**/node_modules/**", "dist/**", "CHANGELOG.md", "docs/README.md"],
  });
  const listedPages = readContents().flatMap(({ entries }) => entries.map(({ page }) => page));
  const below = listedPages
    .filter((page) => /^docs\/(?:runbooks|decisions)\/README\.md$/.test(page))
    .flatMap(listPagesBelow);
  expect([...listedPages, ...below.map(({ page }) => page)].toSorted()).toEqual(pages.toSorted());
});

it("divides docs/README.md into Start, Guides, Concepts, Operate, Reference and Contribute", () => {
  expect(readContents().map(({ title }) => title)).toEqual([
    "Start",
    "Guides",
    "Concepts",
    "Operate",
    "Reference",
    "Contribute",
  ]);
  expect(listPagesBelow("docs/runbooks/README.md")).toContainEqual({
    title: "The node is down",
    page: "docs/runbooks/node-down.md",
  });
});
