import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root, listSourceFiles } from "./rooms.ts";

/** A number of the range that JSON-RPC 2.0 reserves for errors, however it is grouped. */
const codeLiteral = /-32_?\d{3}(?!\d)/;
const table = "gateway/errors.ts";
/** Tests say what goes over the wire, and what stands in for a node has the node's own errors. */
const isOfTests = (path: string) => path.endsWith(".test.ts") || path.startsWith("gateway/testing/");

const linesOf = (path: string) => readFileSync(join(root, path), "utf8").split("\n");

describe("the gateway's JSON-RPC errors", () => {
  it("have their codes from one table", () => {
    const elsewhere = listSourceFiles()
      .filter((path) => path.startsWith("gateway/") && path !== table && !isOfTests(path))
      .flatMap((path) => linesOf(path).flatMap((line, at) => (codeLiteral.test(line) ? [`${path}:${at + 1}`] : [])));
    expect(elsewhere).toEqual([]);
  });

  it("name each code once in it", () => {
    const codes = linesOf(table).flatMap((line) => /^ {2}\w+: (-32_\d{3}),$/.exec(line)?.[1] ?? []);
    expect(codes).toContain("-32_603");
    expect(new Set(codes).size).toBe(codes.length);
    const literals = linesOf(table).filter((line) => codeLiteral.test(line) && !line.includes("reservedCodes"));
    expect(literals).toHaveLength(codes.length);
  });
});
