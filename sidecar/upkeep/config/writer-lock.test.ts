import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createWriterLock } from "./writer-lock.ts";

test("resolves two links and the real name to the same file", async () => {
  const directory = await makeTestDirectory();
  for (const name of ["real", "a", "b"]) await mkdir(join(directory, name));
  const path = (name: string) => join(directory, name, "node.conf");
  await writeFile(path("real"), "{}");
  for (const name of ["a", "b"]) await symlink(path("real"), path(name));
  using first = createWriterLock(path("a"));
  expect(first.acquire()).toEqual({ ok: true });
  for (const name of ["b", "real"]) {
    using secondLock = createWriterLock(path(name));
    expect(secondLock.acquire()).toMatchObject({ ok: false, reason: "Locked" });
  }
  first[Symbol.dispose]();
  using third = createWriterLock(path("b"));
  expect(third.acquire()).toEqual({ ok: true });
});
