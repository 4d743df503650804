import { posix } from "node:path";
import { Marked, type RendererObject, type Tokens } from "marked";

const folder = "docs/runbooks";

type PageNames = Pick<ReadonlyMap<string, string>, "has">;

/** Renders a runbook as a page. Shows HTML in it as text, and replaces links to unserved files with their paths in the repository. Pure. */
export function renderRunbook(name: string, markdown: string, pages: PageNames): string {
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? name;
  const content = new Marked({ renderer: createRenderer(pages) }).parse(markdown, { async: false });
  const here = name === "README.md" ? ' aria-current="page"' : "";
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${escapeHtml(title)} · Gatehouse</title>
    <link rel="stylesheet" href="/page/page.css" />
    <link rel="stylesheet" href="/page/runbook.css" />
    <link rel="icon" href="data:," />
    <script type="module" src="/page/runbook.js"></script>
  </head>
  <body class="runbook">
    <header>
      <nav aria-label="Gatehouse"><a href="/">Node status</a> <a href="/runbooks/README.md"${here}>Runbooks</a></nav>
    </header>
    <main>
${content}    </main>
    <footer class="quiet"><p><code>curl</code> gets this page as plain text.</p></footer>
  </body>
</html>
`;
}

function createRenderer(pages: PageNames): RendererObject {
  const createAnchor = createAnchors();
  return {
    code({ text, lang }) {
      const language = lang === undefined || lang === "sh" ? "" : `<p class="language quiet">${escapeHtml(lang)}</p>\n`;
      return `${language}<pre><code>${escapeHtml(text)}</code></pre>\n`;
    },
    heading({ tokens, depth }) {
      const words = this.parser.parseInline(tokens, this.parser.textRenderer);
      return `<h${depth} id="${createAnchor(words)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    html: ({ text, block }: Tokens.HTML | Tokens.Tag) => (block ? `<p>${escapeHtml(text)}</p>\n` : escapeHtml(text)),
    image: ({ text }) => escapeHtml(text),
    link({ href, tokens }) {
      const words = this.parser.parseInline(tokens);
      if (isReachable(href, pages)) return `<a href="${escapeHtml(href)}">${words}</a>`;
      return isRelative(href) ? `${words} (<code>${escapeHtml(posix.join(folder, href))}</code>)` : words;
    },
  };
}

function isReachable(href: string, pages: PageNames): boolean {
  const [target = ""] = href.split("#");
  return /^https?:\/\//.test(href) || target === "" || pages.has(target);
}

function isRelative(href: string): boolean {
  return !/^(?:[a-z][a-z\d+.-]*:|\/)/i.test(href);
}

/** Creates heading anchors as code forges do, because the Markdown's links use them; a duplicate gets a number. */
function createAnchors(): (words: string) => string {
  const used = new Map<string, number>();
  return (words) => {
    const anchor = words
      .toLowerCase()
      .replaceAll(/&[a-z\d#]+;|[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-");
    const count = used.get(anchor) ?? 0;
    used.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
