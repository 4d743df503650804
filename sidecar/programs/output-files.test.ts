import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createOutputFiles } from "./output-files.ts";

const log = pino({ level: "silent" });
const deadline = { call: <T>(_: string, call: () => Promise<T>) => call() };

let directory: string;
let victim: string;

beforeEach(async () => {
  directory = await makeTestDirectory();
  victim = join(directory, "victim");
  await writeFile(victim, "v".repeat(100));
  await mkdir(join(directory, "output"));
});

test("empties its own large files, but not the target of a symbolic link", async () => {
  const output = join(directory, "output");
  await symlink(victim, join(output, "a.out.log"));
  await writeFile(join(output, "b.out.log"), "b".repeat(100));
  await using _ = createOutputFiles(output, { deadline, log }, { fileBytes: 10, everyMs: 5 });
  await expect.poll(async () => (await stat(join(output, "b.out.log"))).size).toBe(0);
  expect(await readFile(victim, "utf8")).toHaveLength(100);
});
