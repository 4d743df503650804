import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import v8Flags from "./v8-flags.json" with { type: "json" };

/** V8's own list of its flags: `  --name (what it is for)`, then `type: bool  default: --no-name`. */
const known = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8", maxBuffer: 16_777_216 });

function typeOf(name: string): string | undefined {
  return new RegExp(`^ +--${name} \\(.*\\n +type: (\\w+) `, "m").exec(known)?.[1];
}

const names = (flags: readonly string[]) => flags.map((flag) => flag.replace(/^--(no-)?/, "").replace(/=.*/, ""));

describe("the flags that a process sets at run time", () => {
  // V8 reports nothing when a removed flag is set at run time.
  it.each(Object.values(v8Flags).flat())("%s exists in this V8", (flag) => {
    const { name = "", value } = /^--(?:no-)?(?<name>[a-z-]+)(?:=(?<value>\d+))?$/.exec(flag)?.groups ?? {};
    expect([flag, typeOf(name)]).toEqual([flag, value === undefined ? "bool" : "int"]);
  });

  it("for speed undo those for memory", () => {
    expect(names(v8Flags.speed)).toEqual(expect.arrayContaining(names(v8Flags.room)));
  });
});
