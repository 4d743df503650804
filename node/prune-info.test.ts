import { describe, expect, test } from "vitest";
import { parsePruneInfo, type PruneInfo } from "./prune-info.ts";

const info: PruneInfo = {
  autoPrune: true,
  reservedWindow: 100_000n,
  pruneReservedVersion: 12n,
  flushedVersion: 18_446_744_073_709_551_615n,
  realPruneReservedVersion: 11n,
};

const fields = [
  ["enable_auto_prune", "1"],
  ["auto_prune_reserved_window", "100000"],
  ["prune_reserved_version", "12"],
  ["flushed_version", "18446744073709551615"],
  ["real_prune_reserved_version", "11"],
] as const;

describe("parsePruneInfo", () => {
  test.each([
    ["lines with a colon", fields.map(([name, value]) => `  ${name}: ${value}`).join("\n")],
    ["lines with an equals sign", fields.map(([name, value]) => `${name}=${value}`).join("\r\n")],
    ["JSON", `{${fields.map(([name, value]) => `"${name}": ${value}`).join(",")}}`],
    [
      "lines between log lines",
      `2026-01-01 INFO other_version: 3\nPruneInfo:\n${fields.map(([n, v]) => `${n} : ${v}`).join("\n")}\nbye`,
    ],
  ])("parses every field from %s", (_, output) => {
    expect(parsePruneInfo(output)).toEqual({ ok: true, info });
  });

  test.each([
    ["whitespace only", "PruneInfo\n\tenable_auto_prune\t  1\n"],
    ["odd spacing", "enable_auto_prune   =1 "],
    ["a word as the value", "  Enable_Auto_Prune :true"],
    ["a single line for all fields", "PruneInfo { enable_auto_prune: 1, other: 5 }"],
    ["an arrow", "enable_auto_prune -> 1"],
    ["a fat arrow", "enable_auto_prune => 1"],
    ["the word is", "enable_auto_prune is 1"],
    ["bars around both", "| name | value |\n|---|---|\n| enable_auto_prune | 1 |"],
    ["box-drawing bars", "│ enable_auto_prune ┃ true ║"],
    ["a bar between", "enable_auto_prune | enabled"],
    ["leader dots", "enable_auto_prune ......: 1"],
    ["ANSI colors", "\u001B[1menable_auto_prune\u001B[0m: \u001B[32m1\u001B[0m"],
    ["a trailing dot", "enable_auto_prune: 1."],
    ["a trailing comma", "enable_auto_prune = 1,"],
    ["a trailing semicolon", "enable_auto_prune:1;"],
    ["quotes around both", '"enable_auto_prune" : "1"'],
    ["a quoted word as the value", '{"enable_auto_prune" : "on"}'],
    ["the value enabled", "enable_auto_prune: enabled"],
    ["the value ON", "enable_auto_prune = ON"],
    ["the value yes", "enable_auto_prune: yes."],
    ["brackets after the value", "enable_auto_prune: 1 (enabled)"],
  ])("parses enable_auto_prune alone, written with %s", (_, output) => {
    const nothing = { reservedWindow: undefined, pruneReservedVersion: undefined };
    const noVersions = { flushedVersion: undefined, realPruneReservedVersion: undefined };
    expect(parsePruneInfo(output)).toEqual({ ok: true, info: { autoPrune: true, ...nothing, ...noVersions } });
  });

  test.each([
    "Segmentation fault",
    "enable_auto_prune: 2",
    "enable_auto_prune: 0.5",
    "usage: node_cli prune --enable_auto_prune 1",
    "flushed_version: 7",
    "enable_auto_prune:",
    "enable_auto_prune:\n1",
    "enable_auto_prune: 2\nenable_auto_prune: 1",
    "enable_auto_prune: not enabled",
    "enable_auto_prune: no such key",
    "enable_auto_prune: on request",
    "enable_auto_prune: 0/1",
    "enable_auto_prune: 0 or 1",
    "enable_auto_prune: 0 -> 1",
    "enable_auto_prune: 1x",
    "| enable_auto_prune | 1 | 0 |",
    "flushed_version enable_auto_prune\n1 0",
    "a | enable_auto_prune |\n1 | 0 |",
  ])("rejects %j and quotes it", (output) => {
    const message = `printed no enable_auto_prune of 0 or 1; found ${JSON.stringify(output)}.`;
    expect(parsePruneInfo(output)).toEqual({ ok: false, message });
  });

  test("rejects contradicting values of enable_auto_prune and accepts repeated ones", () => {
    const output = "enable_auto_prune: 0\nenable_auto_prune: 1\n";
    const message = `printed enable_auto_prune as 0 and as 1; found ${JSON.stringify(output)}.`;
    expect(parsePruneInfo(output)).toEqual({ ok: false, message });
    expect(parsePruneInfo("enable_auto_prune: 1\nPruneInfo: enable_auto_prune=true")).toMatchObject({ ok: true });
    expect(parsePruneInfo("enable_auto_prune: on\nenable_auto_prune: off")).toMatchObject({ ok: false });
  });

  test.each(["0", "false", "off.", "no", "DISABLED,"])("parses %j as disabled", (value) => {
    expect(parsePruneInfo(`enable_auto_prune: ${value}`)).toMatchObject({ ok: true, info: { autoPrune: false } });
  });
});
