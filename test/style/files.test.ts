import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root, listSourceFiles } from "./rooms.ts";

const maxLines = 250;
const files = listSourceFiles().map((path) => ({ path, lines: readFileSync(join(root, path), "utf8").split("\n") }));
const isTest = (path: string) => path.endsWith(".test.ts");

function linesThatMatch(pattern: RegExp, include: (path: string) => boolean): string[] {
  return files
    .filter(({ path }) => include(path))
    .flatMap(({ path, lines }) => lines.flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])));
}

describe("source files", () => {
  it("hold one noun each: none is longer than it can be read at one go", () => {
    const long = files.filter(({ path, lines }) => !isTest(path) && lines.length > maxLines);
    expect(long.map(({ path, lines }) => `${path}: ${lines.length} lines`)).toEqual([]);
  });

  it("are named in kebab-case", () => {
    expect(files.map(({ path }) => path).filter((path) => /[A-Z_]/.test(path.split("/").at(-1) ?? ""))).toEqual([]);
  });

  it("read the environment and the arguments only where settings and commands are parsed, or handed to a program", () => {
    const edge =
      /^(cli|test|infra|policies)\/|\/testing\/|^daemon\/(service|process\/program-environment)\.ts$|\.main\.ts$/;
    expect(linesThatMatch(/process\.(env|argv)\b/, (path) => !isTest(path) && !edge.test(path))).toEqual([]);
  });

  it("name no path of the machine that they were written on", () => {
    expect(linesThatMatch(/["'`(](\/work\/|\/root\/|\/home\/\w)/, (path) => !path.startsWith("test/style/"))).toEqual(
      [],
    );
  });
});
