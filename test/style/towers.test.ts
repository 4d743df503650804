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

/** Imports written as `from -> to`. */
const edges = (...pairs: readonly string[]) =>
  pairs.map((pair) => {
    const [from = "", to = ""] = pair.split(" -> ");
    return { from, to };
  });

describe("a made-up tree", () => {
  it("has a circle where folders import each other, though no file does", () => {
    const floor = findFloors(edges("room/a/one.ts -> room/b/one.ts", "room/b/two.ts -> room/a/two.ts")).get("room");
    expect(findCircles(floor ?? new Map())).toEqual([["a", "b"]]);
  });

  it("has a circle where they do so by way of a third, at the root too", () => {
    const floor = findFloors(edges("a/x.ts -> b/x.ts", "b/y.ts -> c/x.ts", "c/y.ts -> a/y.ts", "d/x.ts -> a/x.ts"));
    expect(findCircles(floor.get(".") ?? new Map())).toEqual([["a", "b", "c"]]);
  });

  it("is a tower where all imports lead down", () => {
    const floor = findFloors(
      edges("room/a/x.ts -> room/b/x.ts", "room/main.ts -> room/a/x.ts", "room/a/x.ts -> room/c.ts"),
    );
    expect(findCircles(floor.get("room") ?? new Map())).toEqual([]);
  });
});
