import { readFileSync } from "node:fs";
import type { App } from "#daemon/http/app.ts";

/** The page's scripts; `page.js` imports the others. */
const scripts = ["page", "chart", "chart-words", "conditions", "elements", "events", "plan", "times", "verdict"];

/** The page's files by their path on the listener. */
const files = [
  { path: "/", file: "index.html", type: "text/html; charset=utf-8" },
  { path: "/page/page.css", file: "page.css", type: "text/css; charset=utf-8" },
  ...scripts.map((name) => ({ path: `/page/${name}.js`, file: `${name}.js`, type: "text/javascript; charset=utf-8" })),
];

/** Nothing from elsewhere, no inline code or style, no text read as HTML, no frame around the page. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Adds `GET /`: the status as a page for a person, which updates itself from `/status`. */
export function pageRoutes(app: App): void {
  for (const { path, file, type } of files) {
    const content = readFileSync(new URL(`assets/${file}`, import.meta.url), "utf8");
    app.get(path, (c) =>
      c.body(content, 200, {
        "Content-Type": type,
        "Content-Security-Policy": contentSecurityPolicy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
      }),
    );
  }
}
