import { extname } from "node:path";
import { accepts } from "hono/accepts";
import type { App } from "#daemon/http/app.ts";
import { listProgramFiles, readProgramFile, type ProgramFolder } from "#daemon/files/program-files.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** Nothing from elsewhere, no inline code or style, no text read as HTML, no frame around the page. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Builds the headers of every file of the page. */
function buildHeaders(type: string): Record<string, string> {
  return {
    "Content-Type": type,
    "Content-Security-Policy": contentSecurityPolicy,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
  };
}

const textType = "text/plain";
const htmlType = "text/html";

/** Adds a text: as HTML for a client that accepts that by name, as browsers do, and else plain, as a person with curl reads it. */
export function addReadable(
  app: App,
  path: string,
  { text, html }: Readonly<{ text: string; html: () => string }>,
): void {
  app.get(path, (c) => {
    const type = accepts(c, { header: "Accept", supports: [textType, htmlType], default: textType });
    const headers = { ...buildHeaders(`${type}; charset=utf-8`), Vary: "Accept" };
    return c.body(type === htmlType ? html() : text, 200, headers);
  });
}

/** Adds a folder's files under `/page/`, its `index.html` as `GET /`; all of them, or those that are named. */
export function addAssets(app: App, folder: ProgramFolder, names = listProgramFiles(folder)): void {
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const content = readProgramFile(folder, name);
    app.get(name === "index.html" ? "/" : `/page/${name}`, (c) => c.body(content, 200, buildHeaders(type)));
  }
}
