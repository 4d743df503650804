import { statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "../testing/test-directory.ts";
import { createDirectory } from "./create-directory.ts";

test("creates a directory with its parents, and accepts an existing one", async () => {
  const path = join(await makeTestDirectory(), "a", "b");
  createDirectory(path);
  createDirectory(path);
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

test.runIf(process.platform === "linux")("fails where nothing can be created", () => {
  expect(() => createDirectory("/proc/x/y")).toThrow("ENOENT");
});

test("fails if the parent is a file", async () => {
  const file = join(await makeTestDirectory(), "file");
  await writeFile(file, "");
  expect(() => createDirectory(file)).toThrow("EEXIST");
  expect(() => createDirectory(join(file, "a"))).toThrow("ENOTDIR");
});
