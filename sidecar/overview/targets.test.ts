import { expect, test } from "vitest";
import { parseTargets, listTargetLines } from "./targets.ts";

test("reads one target per line; sends credentials but never shows them", () => {
  const lines = listTargetLines(
    "# the fleet\n\nnode-7=http://10.0.0.7:9600  # Zurich\n  http://reader:word@10.0.0.8:9600/\n",
  );
  expect(parseTargets(lines)).toEqual([
    { name: "node-7", url: "http://10.0.0.7:9600", shownUrl: "http://10.0.0.7:9600/" },
    { name: "10.0.0.8:9600", url: "http://reader:word@10.0.0.8:9600/", shownUrl: "http://10.0.0.8:9600/" },
  ]);
});

const listUrls = (count: number) => Array.from({ length: count }, (_, index) => `http://10.0.0.7:${index + 1}`);

test("accepts 64 targets and rejects 65", () => {
  expect(parseTargets(listUrls(64))).toHaveLength(64);
  expect(() => parseTargets(listUrls(65))).toThrow("65 targets given; the limit is 64.");
});

test.each([
  [[], "no targets given"],
  [["ftp://10.0.0.7"], "invalid target"],
  [["a=https://ops.example/node-a"], "has a path or a query"],
  [["a=http://10.0.0.7:1/?token=1"], "has a path or a query"],
  [["a=http://10.0.0.7:1", "a=http://10.0.0.8:1"], "two targets are named a"],
])("rejects anything other than a list of targets: %j", (lines, words) => {
  expect(() => parseTargets(lines)).toThrow(words);
});
