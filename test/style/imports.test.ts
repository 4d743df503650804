import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { roomTable } from "./room-table.ts";
import { readImports, root, findRoom, listSourceFiles, type ImportEdge } from "./rooms.ts";

const edges = listSourceFiles()
  .flatMap(readImports)
  .filter((edge) => !edge.to.startsWith("npm:"));
const show = (edge: ImportEdge) => `${edge.from}:${edge.line} imports ${edge.to}`;

describe("imports", () => {
  it("cross rooms only where the architecture's table allows it", () => {
    const forbidden = edges.filter((edge) => {
      const room = findRoom(edge.from);
      if (room === "" || room === findRoom(edge.to)) return false;
      return !(roomTable[room]?.mayImport ?? []).some((glob) => posix.matchesGlob(edge.to, glob));
    });
    expect(forbidden.map(show)).toEqual([]);
  });

  it("use every file that the table lists", () => {
    const named = Object.entries(roomTable).flatMap(([room, { mayImport }]) =>
      mayImport.filter((glob) => !glob.includes("**")).map((glob) => ({ room, glob })),
    );
    const unused = named.filter(
      ({ room, glob }) => !edges.some(({ from, to }) => findRoom(from) === room && posix.matchesGlob(to, glob)),
    );
    expect(unused).toEqual([]);
  });

  it("lead only to rooms earlier in the table", () => {
    const rooms = ["", ...Object.keys(roomTable)];
    const down = edges.filter(({ from, to }) => rooms.indexOf(findRoom(to)) > rooms.indexOf(findRoom(from)));
    expect(down.filter(({ from }) => findRoom(from) !== "").map(show)).toEqual([]);
  });

  it("lead to files that exist", () => {
    expect(edges.filter((edge) => !existsSync(join(root, edge.to))).map(show)).toEqual([]);
  });

  it("form no cycle", () => {
    const targets = new Map<string, string[]>();
    for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
    const finished = new Set<string>();
    const circles: string[] = [];
    const walk = (file: string, trail: readonly string[]): void => {
      if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(" -> "));
      if (trail.includes(file) || finished.has(file)) return;
      for (const next of targets.get(file) ?? []) walk(next, [...trail, file]);
      finished.add(file);
    };
    for (const file of targets.keys()) walk(file, []);
    expect(circles).toEqual([]);
  });
});
