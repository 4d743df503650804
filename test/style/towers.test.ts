import { describe, expect, it } from "vitest";
import { readImports, listSourceFiles } from "./rooms.ts";
import { findCircles, findFloors } from "./towers.ts";

const isTest = (path: string) => path.endsWith(".test.ts") || path.startsWith("test/") || path.includes("/testing/");
const floors = findFloors(
  listSourceFiles()
    .filter((path) => !isTest(path))
    .flatMap(readImports)
    .filter(({ to }) => !to.startsWith("npm:")),
);

describe("each folder is a tower: what stands in it can be ordered so that each part imports only those before it", () => {
  it.each([...floors])("%s", (_, floor) => {
    expect(findCircles(floor)).toEqual([]);
  });
});
