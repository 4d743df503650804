import { hash } from "node:crypto";
import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { beforeEach, expect, it, vi } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { generousMs } from "../testing/until.ts";
import { createLog } from "../log/log.ts";
import { StartupError } from "../process/startup-error.ts";
import { createActiveFiles } from "./active-files.ts";
import { watchFile, type FileReading, type WatchedFileDependencies } from "./watched-file.ts";

let folder: string;
let path: string;
let lines: string[];
beforeEach(async () => {
  folder = await makeTestDirectory();
  path = join(folder, "data", "file.json5");
  lines = [];
});

function hold(text: string): void {
  rmSync(join(folder, "data"), { recursive: true, force: true });
  mkdirSync(join(folder, "data"));
  writeFileSync(path, text);
}

/** Makes the system fail to resolve the directory, for any user (ELOOP). */
function corruptDirectory(): void {
  rmSync(join(folder, "data"), { recursive: true, force: true });
  symlinkSync("data", join(folder, "data"));
}

function reporting(metrics = new Registry()): WatchedFileDependencies {
  const log = createLog({ service: "test", level: "info" }, { write: (line) => void lines.push(line) });
  return { log, files: createActiveFiles(metrics) };
}

const file = () => ({ path, setting: "a.setting" });

function readAny(content: unknown): FileReading<object> {
  const value = content as object;
  return "bad" in value ? { ok: false, problems: ["bad: the first.", "bad: the\nsecond."] } : { ok: true, value };
}

const open = [
  [
    "synchronously",
    (apply: (value: object) => void, dependencies: WatchedFileDependencies) =>
      watchFile({ ...file(), read: readAny, apply }, dependencies),
  ],
  [
    "asynchronously",
    (apply: (value: object) => void, dependencies: WatchedFileDependencies) =>
      watchFile({ ...file(), read: async (content) => readAny(content), apply }, dependencies),
  ],
] as const;

it.each(open)(
  "keeps the old content while the folder is unreadable, then loads the new one, opened %s",
  async (_, opened) => {
    hold("{ at: 1 }");
    const taken: object[] = [];
    const dependencies = reporting();
    await using _watched = await opened((value) => void taken.push(value), dependencies);
    const problems = () => dependencies.files.list()[0]?.problems;
    corruptDirectory();
    await vi.waitUntil(() => problems() !== undefined, { timeout: generousMs });
    expect(problems()).toEqual(["can't be read (ELOOP); expected a readable JSON5 file."]);
    expect(lines.join("")).toContain(`a.setting: ${path}: can't be read (ELOOP)`);
    expect(taken).toEqual([{ at: 1 }]);
    hold("{ at: 2 }");
    await vi.waitUntil(() => problems() === undefined, { timeout: generousMs });
    expect(taken.at(-1)).toEqual({ at: 2 });
  },
);

it.each(open)("aborts startup if the folder is unreadable, opened %s", async (_, opened) => {
  corruptDirectory();
  const wrong = `a.setting: ${path}: can't be read (ELOOP); expected a readable JSON5 file.`;
  await expect(opened(() => undefined, reporting())).rejects.toThrow(new StartupError(wrong));
});

it.each(open)("aborts startup with each problem of the content as one entry, opened %s", async (_, opened) => {
  hold("{ bad: 1 }");
  const problems = [`a.setting: ${path}: bad: the first.`, `a.setting: ${path}: bad: the\nsecond.`];
  await expect(opened(() => undefined, reporting())).rejects.toMatchObject({ problems, message: problems.join("\n") });
});

async function follow() {
  hold("{ at: 1 }");
  const taken: object[] = [];
  const metrics = new Registry();
  const dependencies = reporting(metrics);
  const watchedFile = await watchFile(
    { ...file(), read: readAny, apply: (value) => void taken.push(value) },
    dependencies,
  );
  return {
    watchedFile,
    taken: (at: number) => expect.poll(() => taken.at(-1)).toEqual({ at }),
    listed: () => dependencies.files.list()[0],
    metric: async () => /gatehouse_file_loaded\{setting="a.setting"\} (\d)/.exec(await metrics.metrics())?.[1],
    missed: () => expect.poll(() => dependencies.files.list()[0]?.problems).toHaveLength(1),
  };
}

it("is reloaded on each change after its folder was removed and recreated", async () => {
  const { watchedFile, taken, missed } = await follow();
  await using _watched = watchedFile;
  await taken(1);
  rmSync(join(folder, "data"), { recursive: true });
  await missed();
  hold("{ at: 2 }");
  await taken(2);
  writeFileSync(path, "{ at: 3 }");
  await taken(3);
});

it("is reloaded on each change after a link to a different file replaced it", async () => {
  const { watchedFile, taken } = await follow();
  await using _watched = watchedFile;
  await taken(1);
  writeFileSync(join(folder, "other"), "{ at: 2 }");
  symlinkSync(join(folder, "other"), join(folder, "link"));
  renameSync(join(folder, "link"), path);
  await taken(2);
  writeFileSync(join(folder, "other"), "{ at: 3 }");
  await taken(3);
});

it("is reloaded after an in-place edit of the same length with its mtime restored", async () => {
  const { watchedFile, taken } = await follow();
  await using _watched = watchedFile;
  await taken(1);
  const { atime, mtime } = statSync(path);
  writeFileSync(path, "{ at: 2 }");
  utimesSync(path, atime, mtime);
  await taken(2);
});

it("is reloaded if it changes before the watch starts", async () => {
  const { watchedFile, taken } = await follow();
  await using _watched = watchedFile;
  writeFileSync(path, "{ at: 22 }");
  await taken(22);
});

it("is reloaded when its folder link is swapped as by Kubernetes", async () => {
  const { watchedFile, taken } = await follow();
  await using _watched = watchedFile;
  for (const at of [2, 3]) {
    mkdirSync(join(folder, `..${at}`));
    writeFileSync(join(folder, `..${at}`, "file.json5"), `{ at: ${at} }`);
    symlinkSync(`..${at}`, join(folder, "..next"));
    if (at === 2) rmSync(join(folder, "data"), { recursive: true });
    renameSync(join(folder, "..next"), join(folder, "data"));
    rmSync(join(folder, `..${at - 1}`), { recursive: true, force: true });
    await taken(at);
  }
});

it("reports the active content, and that the current file is not active", async () => {
  const { watchedFile, taken, missed, listed, metric } = await follow();
  await using _watched = watchedFile;
  const first = listed();
  expect(first).toEqual({ setting: "a.setting", path, sha256: hash("sha256", "{ at: 1 }"), readAt: first?.readAt });
  expect(await metric()).toBe("1");
  writeFileSync(path, "{ at: ");
  await missed();
  expect(listed()).toEqual({ ...first, problems: [expect.stringMatching(/^line 1, column 7: .*expected JSON5/)] });
  expect(await metric()).toBe("0");
  writeFileSync(path, "{ at: 3 }");
  await taken(3);
  expect([listed()?.sha256, listed()?.problems, await metric()]).toEqual([hash("sha256", "{ at: 3 }"), undefined, "1"]);
});
