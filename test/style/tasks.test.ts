import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./rooms.ts";

const page = readFileSync(join(root, "docs/contributing.md"), "utf8");

/** The items of a page's list of tasks, each with its paths as they are written: `- task: file; more`. */
function tasksOf(text: string): readonly Readonly<{ task: string; open: string; paths: readonly string[] }>[] {
  const section = text.slice(text.indexOf("## Which file to open"), text.indexOf("## How to add"));
  return section
    .split("\n")
    .filter((line) => line.startsWith("- "))
    .map((line) => {
      const [, task = "", open = "", also = ""] = /^- (.+?): (`[^`]+`)(.*)$/.exec(line) ?? [];
      return { task, open, paths: pathsIn(`${open} ${also}`) };
    });
}

function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`([\w.<>-]+(?:\/[\w.<>-]*)+|[\w-]+\.yaml)`/g)].map(([, path = ""]) => path);
}

/** A path with `<…>` for a name stands for at least one file. */
function isThere(path: string): boolean {
  return globSync(path.replaceAll(/<[^>]*>/g, "*"), { cwd: root }).length > 0;
}

const tasks = tasksOf(page);

describe("the list of tasks in docs/contributing.md", () => {
  it("has the everyday tasks", () => {
    expect(tasks.length).toBeGreaterThanOrEqual(27);
  });

  it.each(tasks)("names files that are there: $task", ({ open, paths }) => {
    expect(pathsIn(open)).toHaveLength(1);
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });

  it("would fail on a file that is gone", () => {
    const row = "- a task: `gateway/no-such-file.ts`; also `gateway/<no>-such.ts`, `gateway/errors.ts`";
    const [task] = tasksOf(`## Which file to open\n\n${row}\n\n## How to add`);
    expect(task?.paths.filter((path) => !isThere(path))).toEqual(["gateway/no-such-file.ts", "gateway/<no>-such.ts"]);
  });
});
