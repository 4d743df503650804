import { existsSync, globSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { defineConfig } from "vitepress";
import { drawDiagram } from "./diagram.ts";
import { promql } from "./promql.ts";

const root = join(import.meta.dirname, "../..");

/** Pages of a folder, as the sidebar lists them. */
function listPagesIn(folder: string) {
  return globSync("*.md", { cwd: join(root, folder) })
    .toSorted()
    .map((file) => ({ text: basename(file, ".md").replaceAll("-", " "), link: `/${folder}/${basename(file, ".md")}` }));
}

/** Folders and files that pages name and that are no pages: the site has only their names. */
function isNoPage(href: string, page: string): boolean {
  if (/^(?:[a-z]+:|#)/.test(href)) return false;
  const target = posix.join(dirname(page), href.split("#")[0] ?? "");
  return existsSync(join(root, target)) && !target.endsWith(".md") && !target.endsWith(".png");
}

/** The pages as a site, made from the same files as they are read in a clone. Search works without a network. */
export default defineConfig({
  title: "Gatehouse",
  description: "Put your node's RPC on the internet, keep the node right, and get paid per request.",
  srcDir: "..",
  srcExclude: ["CHANGELOG.md", "test/**", "dist/**", ".gatehouse/**", "**/node_modules/**"],
  cacheDir: "../node_modules/.cache/vitepress",
  rewrites: {
    "README.md": "index.md",
    ":room/README.md": ":room/index.md",
    "docs/:folder/README.md": "docs/:folder/index.md",
    "examples/:folder/README.md": "examples/:folder/index.md",
  },
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
    sidebar: [
      {
        text: "Start",
        items: [
          { text: "Overview", link: "/" },
          { text: "Getting started", link: "/docs/getting-started" },
        ],
      },
      { text: "Guides", items: listPagesIn("docs/guides") },
      { text: "Concepts", items: listPagesIn("docs/concepts") },
      { text: "Reference", items: listPagesIn("docs") },
      { text: "Runbooks", collapsed: true, items: listPagesIn("docs/runbooks") },
      { text: "Decisions", collapsed: true, items: listPagesIn("docs/decisions") },
    ],
  },
});
