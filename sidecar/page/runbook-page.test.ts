import { describe, expect, it } from "vitest";
import { readRunbooks } from "./advice/runbooks.ts";
import { renderRunbook } from "./runbook-page.ts";

const pages = new Set(["node-down.md"]);
const render = (markdown: string) =>
  /<main>\n(.*?) *<\/main>/s.exec(renderRunbook("a.md", markdown, pages))?.[1]?.trim();

describe("renderRunbook", () => {
  it.each([
    ["a script", "<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"],
    ["a tag", "a <img src=x onerror=a()>", "<p>a &lt;img src=x onerror=a()&gt;</p>"],
    ["an image", "![a<b](https://e.example/x.png)", "<p>a&lt;b</p>"],
    ["code", "`<i>`", "<p><code>&lt;i&gt;</code></p>"],
    ["a code block", "```sh\n<i>\n```", "<pre><code>&lt;i&gt;</code></pre>"],
    ["a code block's language", "```<b>\na\n```", '<p class="language quiet">&lt;b&gt;</p>\n<pre><code>a</code></pre>'],
  ])("shows %s as text", (_, markdown, html) => {
    expect(render(markdown)).toBe(html);
  });

  it.each([
    ["a different runbook", "node-down.md#do", '<a href="node-down.md#do">x</a>'],
    ["an anchor on the page", "#do", '<a href="#do">x</a>'],
    ["an external site", 'https://e.example/?a="&b', '<a href="https://e.example/?a=&quot;&amp;b">x</a>'],
  ])("links to %s", (_, href, html) => {
    expect(render(`[x](${href})`)).toBe(`<p>${html}</p>`);
  });

  it.each([
    ["../ledgers.md", "x (<code>docs/ledgers.md</code>)"],
    ["../../infra/README.md", "x (<code>infra/README.md</code>)"],
    ["not-here.md", "x (<code>docs/runbooks/not-here.md</code>)"],
    ["javascript:alert(1)", "x"],
    ["JavaScript:alert(1)", "x"],
    ["data:text/html,a", "x"],
    ["//e.example/", "x"],
  ])("does not link to %s, which is not served", (href, html) => {
    expect(render(`[x](${href})`)).toBe(`<p>${html}</p>`);
  });

  it("generates the same heading anchors as Markdown", () => {
    const html = render("## What it's *not*: `a_b` & c\n\n## Do\n\n## Do");
    expect([...(html ?? "").matchAll(/id="([^"]*)"/g)].map(([, id]) => id)).toEqual([
      "what-its-not-a_b--c",
      "do",
      "do-1",
    ]);
  });

  it("renders every runbook as a page with its title and no broken links", () => {
    const runbooks = readRunbooks();
    expect(runbooks.size).toBeGreaterThan(30);
    const rendered = new Map([...runbooks].map(([name, text]) => [name, renderRunbook(name, text, runbooks)]));
    for (const [name, html] of rendered) {
      const title = runbooks.get(name)?.split("\n")[0]?.slice(2).replaceAll("'", "&#39;");
      expect(html, name).toContain(`<title>${title} · Gatehouse</title>`);
      for (const [, page = "", anchor] of html.matchAll(/href="([\w-]+\.md)?#([^"]+)"/g)) {
        expect(rendered.get(page || name), `${name}: ${page}#${anchor}`).toContain(`id="${anchor}"`);
      }
    }
  });
});
