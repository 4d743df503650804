import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generatedPages } from "./generated-pages.ts";

test.each(Object.entries(generatedPages))("%s matches the code; run `npm run docs` after a change", (page, render) => {
  const committed = readFileSync(join(import.meta.dirname, "../..", page), "utf8");
  expect(render(committed)).toBe(committed);
});
