import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createOutputFiles } from "./output-files.ts";

const log = pino({ level: "silent" });
const deadline = { call: <T>(_: string, call: () => Promise<T>) => call() };

let directory: string;
let victim: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-output-"));
  victim = join(directory, "victim");
  await writeFile(victim, "v".repeat(100));
  await mkdir(join(directory, "output"));
});

afterEach(() => rm(directory, { recursive: true }));

test("clears its own large files, but not what a symbolic link names", async () => {
  const output = join(directory, "output");
  await symlink(victim, join(output, "a.out.log"));
  await writeFile(join(output, "b.out.log"), "b".repeat(100));
  await using _ = createOutputFiles(output, { deadline, log }, { fileBytes: 10, everyMs: 5 });
  await vi.waitFor(async () => expect((await stat(join(output, "b.out.log"))).size).toBe(0));
  expect(await readFile(victim, "utf8")).toHaveLength(100);
});
