import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { shareCompileCache } from "./shared-compile-cache.ts";

const module = join(mkdtempSync(join(tmpdir(), "gatehouse-compiled-")), "module.mjs");
writeFileSync(module, "export const answer = 42;\n");

function fillCache(): string {
  const cache = mkdtempSync(join(tmpdir(), "gatehouse-cache-"));
  execFileSync(process.execPath, [module], { env: { NODE_COMPILE_CACHE: cache } });
  return cache;
}

function findCacheOf(cache: string, user: number): string {
  const program = 'console.log(require("node:module").getCompileCacheDir())';
  const run = { env: { NODE_COMPILE_CACHE: cache }, uid: user, gid: process.getgid?.(), encoding: "utf8" } as const;
  return execFileSync(process.execPath, ["--eval", program], run).trim();
}

const readMode = (path: string) => (statSync(path).mode & 0o777).toString(8);

it("gives the group access to Node's cache for this user", () => {
  const cache = fillCache();
  shareCompileCache(cache, { user: undefined });
  const [own = "", ...otherEntries] = readdirSync(cache);
  expect(otherEntries).toEqual([]);
  const [compiledEntry = ""] = readdirSync(join(cache, own));
  expect([cache, join(cache, own), join(cache, own, compiledEntry)].map(readMode)).toEqual(["770", "770", "640"]);
});

it("gives a different user the same cache under that user's name", () => {
  const cache = fillCache();
  const [own = ""] = readdirSync(cache);
  shareCompileCache(cache, { user: "54321" });
  const [other = "", ...more] = readdirSync(cache).filter((name) => name !== own);
  expect(more).toEqual([]);
  expect(other).toMatch(/-54321$/);
  expect(readdirSync(join(cache, other))).toEqual(readdirSync(join(cache, own)));
});

it.skipIf(process.getuid?.() !== 0)("lets Node find the cache for the different user (only as root)", () => {
  const cache = fillCache();
  shareCompileCache(cache, { user: "54321" });
  expect(findCacheOf(cache, 54_321)).toBe(
    join(cache, readdirSync(cache).find((name) => name.endsWith("-54321")) ?? ""),
  );
});

it("adds nothing for this user, who already has the cache", () => {
  const cache = fillCache();
  shareCompileCache(cache, { user: String(process.getuid?.()) });
  expect(readdirSync(cache)).toHaveLength(1);
});

it("rejects a cache directory with an unexpected name", () => {
  const cache = mkdtempSync(join(tmpdir(), "gatehouse-cache-"));
  execFileSync("mkdir", [join(cache, "v99")]);
  expect(() => shareCompileCache(cache, { user: "54321" })).toThrow("the name of v99 does not end with");
});
