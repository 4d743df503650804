import { describe, expect, it } from "vitest";
import { engineCpus, engineDuration } from "./engine-values.ts";

describe("values that the engine reads back", () => {
  it.each([
    [1, "1.0"],
    [2, "2.0"],
    [0.5, "0.5"],
    [0.25, "0.25"],
    [1.5, "1.5"],
  ])("%d processors are %s", (cpus, text) => {
    expect(engineCpus(cpus)).toBe(text);
  });

  it.each([
    [5, "5s"],
    [60, "1m0s"],
    [90, "1m30s"],
    [300, "5m0s"],
    [3_661, "1h1m1s"],
  ])("%d seconds are %s", (seconds, text) => {
    expect(engineDuration(seconds)).toBe(text);
  });
});
