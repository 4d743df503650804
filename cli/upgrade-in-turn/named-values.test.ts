import { describe, expect, it } from "vitest";
import { assignValues } from "./named-values.ts";

const names = ["node-7", "10.0.0.8:9600", "acme/gatehouse/prod"];
const pair = (words: readonly string[], isShared = true) =>
  Object.fromEntries(assignValues({ option: "--token-file", words, isShared }, names));

describe("assignValues", () => {
  it("gives each its own value, and the rest the one without a name", () => {
    expect(pair(["node-7=/run/7", "10.0.0.8:9600=a=b", "/run/all=x"])).toEqual({
      "node-7": "/run/7",
      "10.0.0.8:9600": "a=b",
      "acme/gatehouse/prod": "/run/all=x",
    });
    expect(pair(["acme/gatehouse/prod=/run/p"], false)).toEqual({ "acme/gatehouse/prod": "/run/p" });
    expect(pair([])).toEqual({});
  });

  it.each([
    [["node-9=/run/9"], true, "--token-file node-9=…: none of them has that name; they are node-7, 10.0.0.8:9600"],
    [["node-7=/a", "node-7=/b"], true, "--token-file is given twice for node-7."],
    [["/a", "/b"], true, "say whose each is, as in --token-file node-7=…."],
    [["/a"], false, "--token-file can't be one for several; say whose it is, as in --token-file node-7=…."],
    [["node-7="], true, "--token-file node-7= has no value."],
  ])("refuses what is ambiguous: %j", (words, isShared, message) => {
    expect(() => pair(words, isShared)).toThrow(message);
  });
});
