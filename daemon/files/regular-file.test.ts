import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { readJson5File } from "./json5-file.ts";
import { readRegularFile, readRegularText } from "./regular-file.ts";

const directory = makeSharedDirectory();
const pipe = join(directory, "pipe");
const file = join(directory, "file");
const broken = join(directory, "broken");
const utf8 = join(directory, "utf8");

beforeAll(() => {
  execFileSync("mkfifo", [pipe]);
  writeFileSync(file, "0123456789");
  writeFileSync(utf8, "\uFEFFä\n\uFFFD");
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

test("reads text with a byte order mark and a replacement character unchanged", () => {
  expect(readRegularText(utf8, 100)).toBe("\uFEFFä\n\uFFFD");
});

test("reports where a JSON5 file is not UTF-8", () => {
  writeFileSync(broken, Buffer.from('{\n  key: "\u00e4" }', "latin1"));
  const message =
    "can't be read (line 2, byte offset 10, is not UTF-8; save the file as UTF-8); expected a readable JSON5 file.";
  expect(readJson5File(broken)).toEqual({ ok: false, message });
});

test.each([
  ["a byte of another encoding", [0x61, 0x0a, 0xc3, 0xa4, 0xe4, 0x62], "line 2, byte offset 4,"],
  ["the byte order mark of UTF-16", [0xff, 0xfe, 0x61, 0], "line 1, byte offset 0,"],
  ["a character that ends too early", [0x61, 0xef, 0xbf], "line 1, byte offset 1,"],
  ["a character that another one interrupts", [0xef, 0xbf, 0x61], "line 1, byte offset 0,"],
  ["half of a surrogate pair", [0x0a, 0x0a, 0xed, 0xa0, 0x80], "line 3, byte offset 2,"],
])("rejects text with %s", (_, bytes, where) => {
  writeFileSync(broken, Uint8Array.from(bytes));
  expect(() => readRegularText(broken, 100)).toThrow(`${where} is not UTF-8; save the file as UTF-8`);
});
