import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { defineConfig } from "vitepress";
import { listPagesBelow, readContents, type Entry } from "../../test/docs/contents.ts";
import { drawDiagram } from "./diagram.ts";
import { promql } from "./promql.ts";

const root = join(import.meta.dirname, "../..");

/** Address of a page in the site. */
function toLink(page: string): string {
  return `/${page.replace(/(?:README)?\.md$/, "")}`;
}

/** An item of the sidebar; pages below a README are folded away. */
function toItem({ title, page }: Entry) {
  const below = /^docs\/\w+\/README\.md$/.test(page) ? listPagesBelow(page) : [];
  const items = below.map((one) => ({ text: one.title, link: toLink(one.page) }));
  return { text: title, link: toLink(page), ...(items.length === 0 ? {} : { collapsed: true, items }) };
}

/** Folders and files that pages mention but that aren't pages: the site shows only their names. */
function isNoPage(href: string, page: string): boolean {
  if (/^(?:[a-z]+:|#)/.test(href)) return false;
  const target = posix.join(dirname(page), href.split("#")[0] ?? "");
  const isInSite = /\.(?:md|png)$/.test(target) && !/^(?:test\/|CHANGELOG)/.test(target);
  return existsSync(join(root, target)) && !isInSite;
}

/** Builds the site from the Markdown files in the repository. Search works offline. */
export default defineConfig({
  title: "Gatehouse",
  description: "Put your node's RPC on the internet, keep the node healthy, and get paid per request.",
  srcDir: "..",
  srcExclude: ["CHANGELOG.md", "test/**", "dist/**", ".gatehouse/**", "**/node_modules/**"],
  cacheDir: "../node_modules/.cache/vitepress",
  rewrites: (page) => page.replace(/README\.md$/, "index.md"),
  // Tables need the outline's space, and long names in them may wrap anywhere.
  transformPageData: ({ frontmatter, relativePath }) => {
    const text = readFileSync(join(root, relativePath.replace(/index\.md$/, "README.md")), "utf8");
    if (/^\|(?:[^|\n]+\|){4,}$/m.test(text)) frontmatter["aside"] = false;
  },
  head: [
    [
      "style",
      {},
      ".vp-doc td, .vp-doc th { padding: 6px 10px; font-size: 13px; vertical-align: top; overflow-wrap: break-word }",
    ],
  ],
  ignoreDeadLinks: false,
  lastUpdated: false,
  markdown: {
    languages: [promql],
    config: (md) => {
      const { fence } = md.renderer.rules;
      md.renderer.rules.fence = (tokens, index, options, env, self) => {
        const { info = "", content = "" } = tokens[index] ?? {};
        return info.trim() === "mermaid" ? drawDiagram(content) : (fence?.(tokens, index, options, env, self) ?? "");
      };
      md.core.ruler.push("names-of-files", (state) => {
        const { relativePath = "" } = state.env as { relativePath?: string };
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          if (token.type === "link_open" && isNoPage(String(token.attrGet("href")), relativePath)) token.attrs = [];
        }
      });
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: readContents().map(({ title, entries }) => ({
      text: title,
      collapsed: title === "Contribute",
      items: entries.map(toItem),
    })),
  },
});
