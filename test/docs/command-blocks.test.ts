import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isTyped } from "./command-block.ts";
import { readBlocks, readers } from "./typed-pages.ts";

const root = join(import.meta.dirname, "../..");
/**
 * A runbook's commands are for a node with that runbook's fault: test/observability/runbooks.test.ts checks the names
 * in them.
 */
const pages = globSync(["README.md", "*/README.md", "docs/**/*.md"], {
  cwd: root,
  exclude: ["node_modules/**", "dist/**", "docs/runbooks/**"],
});
const typed = readers.flat();

describe("every command block", () => {
  it.each(pages.flatMap(readBlocks).map((block) => ({ ...block, place: `${block.page}:${block.line}` })))(
    "$place is run by the test, or specifies another test or a reason",
    (block) => {
      if (block.runBy !== undefined) expect(existsSync(join(root, block.runBy)), block.runBy).toBe(true);
      if (isTyped(block)) expect(typed).toContain(block.page);
      else expect(block.output).toBe("");
    },
  );

  it.each(typed)("%s has a command that the test runs", (page) => {
    expect(readBlocks(page).filter(isTyped)).not.toEqual([]);
  });
});

it("no page installs the unpublished package by its name", () => {
  const byName = /\bnpm (?:install|i)\b[^`\n]*\sgatehouse-evm(?![-\w])/;
  const named = pages.filter((page) => byName.test(readFileSync(join(root, page), "utf8")));
  expect(named).toEqual([]);
});
