import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { readRegularFile, readRegularText } from "./regular-file.ts";

const directory = makeSharedDirectory();
const pipe = join(directory, "pipe");
const file = join(directory, "file");

beforeAll(() => {
  execFileSync("mkfifo", [pipe]);
  writeFileSync(file, "0123456789");
  symlinkSync(file, join(directory, "link"));
});

test.each([file, join(directory, "link")])("reads %s up to its limit", async (path) => {
  const { bytes } = await readRegularFile(path, 10);
  expect(Buffer.from(bytes).toString()).toBe("0123456789");
  expect(readRegularText(path, 10)).toBe("0123456789");
});

test.each([
  ["a pipe that nobody writes to", pipe, "it is not a regular file"],
  ["an endless device", "/dev/zero", "it is not a regular file"],
  ["a directory", directory, "it is not a regular file"],
  ["a larger file", file, "it is larger than 9 bytes"],
  // Such a file reports a size of zero but has content.
  ["a file that is longer than it reports", "/proc/self/status", "it is larger than 9 bytes"],
])("rejects %s at once", async (_, path, message) => {
  await expect(readRegularFile(path, 9)).rejects.toThrow(message);
  expect(() => readRegularText(path, 9)).toThrow(message);
});
