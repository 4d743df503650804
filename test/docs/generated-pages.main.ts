// `npm run docs`: writes the pages, and the parts of pages, that are generated from the code.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatedPages } from "./generated-pages.ts";

for (const [page, render] of Object.entries(generatedPages)) {
  const path = join(import.meta.dirname, "../..", page);
  writeFileSync(path, render(readFileSync(path, "utf8")));
}
