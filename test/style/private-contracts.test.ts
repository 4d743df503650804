import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root, listSourceFiles } from "./rooms.ts";

/** Contracts that Node or a library does not document, each with the one file that may rest on it: its test fails when the contract changes. */
const contracts = [
  {
    what: "the push of a socket or a request that is replaced or called",
    pattern: /\b(socket|incoming|request)\.push\b/,
    file: "daemon/http/raw-connections.ts",
  },
  {
    what: "the connection listeners of a server",
    pattern: /\blisteners\("connection"\)|removeAllListeners\("connection"\)/,
    file: "daemon/http/raw-connections.ts",
  },
  {
    what: "the list that a server asks before it makes a socket",
    pattern: /\bblockList\b/,
    file: "daemon/http/raw-connections.ts",
  },
  {
    what: "how prom-client prints a histogram",
    pattern: /\bgetForPromString\b/,
    file: "gateway/observe/durations.ts",
  },
  {
    what: "a flag of V8",
    pattern: /"--[a-z-]*(semi-space|optimize-for-size|heap-growing|scavenge)|setFlagsFromString\(["'`]/,
    file: "daemon/process/v8-flags.json",
  },
  {
    what: "the name that Node gives to a call in its threads",
    pattern: /FSReq|GetAddrInfoReq|getActiveResourcesInfo/,
    file: "daemon/process/end-process.ts",
  },
  {
    what: "the names of the directories in Node's compile cache",
    pattern: /symlinkSync\(own/,
    file: "cli/shared-compile-cache.ts",
  },
] as const;

const sources = [
  ...listSourceFiles().filter((path) => !path.endsWith(".test.ts")),
  "cli/launch.js",
  "daemon/process/v8-flags.json",
].map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

describe("what Node and libraries keep to themselves", () => {
  it.each(contracts)("$what stands in $file alone", ({ pattern, file }) => {
    expect(sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path)).toEqual([file]);
  });
});
