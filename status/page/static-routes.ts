import { extname } from "node:path";
import { accepts } from "hono/accepts";
import type { App } from "#daemon/http/app.ts";
import { listProgramFiles, readProgramFile, type ProgramFolder } from "#daemon/files/program-files.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** No external resources, no inline code or styles, no text parsed as HTML, no framing of the page. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

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

/** Adds a text: as HTML for clients that explicitly accept it, as browsers do, and otherwise as plain text, e.g. for curl. */
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

/** Adds a folder's files under `/page/`, and its `index.html` as `GET /`; either all files or only those listed. */
export function addAssets(app: App, folder: ProgramFolder, names = listProgramFiles(folder)): void {
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const content = readProgramFile(folder, name);
    app.get(name === "index.html" ? "/" : `/page/${name}`, (c) => c.body(content, 200, buildHeaders(type)));
  }
}
