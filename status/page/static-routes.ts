import { extname } from "node:path";
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

export function addText(app: App, path: string, text: string): void {
  app.get(path, (c) => c.body(text, 200, buildHeaders("text/plain; charset=utf-8")));
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
