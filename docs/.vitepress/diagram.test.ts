import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { drawDiagram } from "./diagram.ts";

const root = join(import.meta.dirname, "../..");
const pages = globSync(["README.md", "docs/**/*.md"], { cwd: root });
const diagrams = pages.flatMap((page) =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^```mermaid\n([^]*?)^```$/gm)].map(
    ([, diagram = ""]) => [page, diagram] as const,
  ),
);

it.each(diagrams)("renders a diagram of %s", (_, diagram) => {
  expect(drawDiagram(diagram)).toContain("svg");
});
