import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseCommandBlocks, isTyped } from "./command-block.ts";
import { findFirstDifference } from "./printed-output.ts";
import { readBlocks, readers } from "./typed-pages.ts";

const root = join(import.meta.dirname, "../..");
/** A runbook's commands are for a node with the fault that it is about: test/observability/runbooks.test.ts checks what they name. */
const pages = globSync(["README.md", "*/README.md", "docs/**/*.md"], {
  cwd: root,
  exclude: ["node_modules/**", "dist/**", "docs/runbooks/**"],
});
const typed = readers.flat();

describe("every command block", () => {
  it.each(pages.flatMap(readBlocks).map((block) => ({ ...block, place: `${block.page}:${block.line}` })))(
    "$place is typed by the test, or says why not, or what runs it",
    (block) => {
      if (block.runBy !== undefined) expect(existsSync(join(root, block.runBy)), block.runBy).toBe(true);
      if (isTyped(block)) expect(typed).toContain(block.page);
      else expect(block.output).toBe("");
    },
  );

  it.each(typed)("%s has something to type", (page) => {
    expect(readBlocks(page).filter(isTyped)).not.toEqual([]);
  });
});

it("no page installs the package by its name: nobody has published it, and somebody else may", () => {
  const byName = /\bnpm (?:install|i)\b[^`\n]*\sgatehouse-evm(?![-\w])/;
  const named = pages.filter((page) => byName.test(readFileSync(join(root, page), "utf8")));
  expect(named).toEqual([]);
});

describe("parseCommandBlocks", () => {
  it("reads commands with what they print, and the comments before them", () => {
    const page = [
      "# Page",
      "```sh\necho 1\n```\n",
      "```text\n1\n```\n",
      "<!-- runs on -->\n\n```sh\nserve\n```\n\n```text\nready\n…\n```\n",
      "- in a list:\n\n  <!-- exit status: 2 -->\n\n  ```sh\n  false\n  ```\n",
      "<!-- not run: no such thing here -->\n```sh\nfly\n```\n",
      "```ts\nconst no = 'sh';\n```",
    ].join("\n");
    const usual = { page: "page.md", output: "", runsOn: false, status: 0, notRun: undefined, runBy: undefined };
    expect(parseCommandBlocks("page.md", page)).toEqual([
      { ...usual, line: 2, command: "echo 1", output: "1" },
      { ...usual, line: 12, command: "serve", output: "ready\n…", runsOn: true },
      { ...usual, line: 25, command: "false", status: 2 },
      { ...usual, line: 30, command: "fly", notRun: "no such thing here" },
    ]);
  });
});

describe("findFirstDifference", () => {
  it.each([
    ["took 12 ms, block 1,204", "took 9 ms, block 7"],
    ["│ a │ 10 │\n└───┴────┘", "│ a │  7 │\n└───┴─────┘"],
    ["from 0x3C44CdDd at 2026-11-23T09:19:27.804Z", "from 0xabc at 2027-01-02T10:00:00.1Z"],
    ["first\n…\nlast", "first\n\nsecond\nthird\nlast\n"],
    ["first\n…", "first\nmore"],
    ["a … c", "a b (1) c"],
    ["", "\n"],
  ])("takes %j for what was printed as %j", (written, printed) => {
    expect(findFirstDifference(written, printed)).toBeUndefined();
  });

  it.each([
    ["right", "wrong", "not printed: right"],
    ["one\ntwo", "one", "not printed: two"],
    ["one", "one\ntwo", "printed, too: two"],
    ["first\n…\nlast", "first\nsecond", "not printed: last"],
    ["", "an error", "printed, too: an error"],
    ["a.c", "abc", "not printed: a.c"],
  ])("distinguishes %j from what was printed as %j", (written, printed, difference) => {
    expect(findFirstDifference(written, printed)).toBe(difference);
  });
});
