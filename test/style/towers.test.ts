import { describe, expect, it } from "vitest";
import { readImports, listSourceFiles } from "./rooms.ts";
import { findCircles, findMinimums } from "./towers.ts";

const isTest = (path: string) => path.endsWith(".test.ts") || path.startsWith("test/") || path.includes("/testing/");
const floors = findMinimums(
  listSourceFiles()
    .filter((path) => !isTest(path))
    .flatMap(readImports)
    .filter(({ to }) => !to.startsWith("npm:")),
);

describe("the parts of each folder import each other without a cycle", () => {
  it.each([...floors])("%s", (_, floor) => {
    expect(findCircles(floor)).toEqual([]);
  });
});
