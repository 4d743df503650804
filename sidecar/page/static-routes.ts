import { extname } from "node:path";
import type { App } from "#daemon/http/app.ts";
import { listProgramFiles, readProgramFile, type ProgramFolder } from "#daemon/program-files.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** Nothing from elsewhere, no inline code or style, no text read as HTML, no frame around the page. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Adds one text, for this page alone. */
export function addText(app: App, path: string, content: string, type: string): void {
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

/** Adds a folder's files under `/page/`, its `index.html` as `GET /`; all of them, or those that are named. */
export function addAssets(app: App, folder: ProgramFolder, names = listProgramFiles(folder)): void {
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    addText(app, name === "index.html" ? "/" : `/page/${name}`, readProgramFile(folder, name), type);
  }
}
