import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../log/log.ts";
import { createMask } from "../secrets/mask.ts";
import type { AuditEntry } from "./audit-entry.ts";
import { openAuditLog } from "./audit-log.ts";

const change: AuditEntry = { action: "node-restart", outcome: "success", by: "sidecar", message: "The node is back." };

async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-audit-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** An audit log in a folder, what its service logs, and a disk that can be out of reach. */
function opened(folder: string, options: Readonly<{ fileBytes?: number; files?: number; isShared?: boolean }> = {}) {
  const path = join(folder, "audit.jsonl");
  const logged: Readonly<Record<string, unknown>>[] = [];
  const write = (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>);
  const disk = { isReachable: true };
  const mask = createMask();
  mask.hide("http://user:planted-password@127.0.0.1:1/");
  const audit = openAuditLog(
    { path, fileBytes: 65_536, files: 10, ...options },
    {
      service: "test",
      log: createLog({ service: "test", level: "info" }, { write }),
      mask,
      clock: () => 0,
      isReachable: () => disk.isReachable,
    },
  );
  return { audit, path, logged, disk };
}

async function linesOf(path: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const text = await readFile(path, "utf8");
  // A kill right after the file was begun.
  if (text === "") return [];
  expect(text.endsWith("\n")).toBe(true);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("a change is a line that says who did what, when, and what was before and after; nobody else may read it", async () => {
  const { audit, path } = opened(await folderForTest());
  audit.addNow({ ...change, reason: "a new value", before: { sha256: "a" }, after: { sha256: "b", amount: 10n } });
  expect(await linesOf(path)).toEqual([
    {
      "@timestamp": "1970-01-01T00:00:00.000Z",
      "event.action": "node-restart",
      "event.outcome": "success",
      "event.reason": "a new value",
      "user.name": "sidecar",
      message: "The node is back.",
      "service.name": "test",
      "service.version": expect.any(String),
      gatehouse: { before: { sha256: "a" }, after: { sha256: "b", amount: "10" } },
    },
  ]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  audit[Symbol.dispose]();
});

test("no key, signature or password is in a line", async () => {
  const { audit, path } = opened(await folderForTest());
  const secret = "planted-secret";
  const after = { signature: secret, deep: { of: { the: { privateKey: secret } } } };
  await audit.add([{ ...change, message: "http://user:planted-password@127.0.0.1:1/", after }]);
  const text = await readFile(path, "utf8");
  expect(text).not.toMatch(/planted-(secret|password)/);
  expect(text).toContain("[secret]");
});

test.each([
  ["half a line", '{"@timestamp":"1970-01-01T00:00:00.000Z","event.act'],
  ["a line without its end", '{"event.action":"node-restart"}'],
  ["zeros, as a lost machine leaves them", "\0".repeat(300)],
  ["a line of zeros", `${"\0".repeat(300)}\n`],
])("%s is cut off at the next start, which reports it", async (_what, torn) => {
  const folder = await folderForTest();
  const before = opened(folder);
  before.audit.addNow(change);
  before.audit[Symbol.dispose]();
  await appendFile(before.path, torn);
  const { audit, path } = opened(folder);
  audit.addNow({ ...change, message: "next" });
  const [first, healed, next] = await linesOf(path);
  expect([first?.["message"], next?.["message"]]).toEqual(["The node is back.", "next"]);
  expect(healed).toMatchObject({ "event.action": "audit-log-healed", gatehouse: { before: torn } });
});

test.each([
  ["a key", "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"],
  ["a line of a key", "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d\n"],
  ["YAML", "port: 1\nlist:\n  - 3\n"],
  ["a list", "[\n1\n]\n"],
])("%s, which the path names by mistake, is left as it is, and nobody is shown it", async (_name, content) => {
  const folder = await folderForTest();
  await writeFile(join(folder, "audit.jsonl"), content);
  const { audit, path, logged } = opened(folder);
  audit.addNow(change);
  expect(await readFile(path, "utf8")).toBe(content);
  expect(JSON.stringify(logged)).toContain("is not an audit log, and is left as it is");
  expect(JSON.stringify(logged)).not.toContain("59c6995e");
});

test("a file with nothing but a torn line starts over", async () => {
  const folder = await folderForTest();
  await writeFile(join(folder, "audit.jsonl"), '{"torn');
  const { path } = opened(folder);
  expect(await linesOf(path)).toMatchObject([{ "event.action": "audit-log-healed" }]);
});

test("as many files are kept as the settings say, each within its size, and no line is torn or lost among them", async () => {
  const folder = await folderForTest();
  const { audit, path } = opened(folder, { fileBytes: 1_000, files: 3 });
  for (let n = 0; n < 40; n += 1) await audit.add([{ ...change, message: `change ${n}` }]);
  expect((await readdir(folder)).toSorted()).toEqual(["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]);
  const files = [`${path}.2`, `${path}.1`, path];
  const kept = (await Promise.all(files.map(linesOf))).flat().map(({ message }) => message);
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, at) => `change ${40 - kept.length + at}`));
  for (const file of files) expect((await stat(file)).size).toBeLessThanOrEqual(1_000);
});

test("changes that come at a time are all on the disk, once each", async () => {
  const { audit, path } = opened(await folderForTest(), { fileBytes: 2_000, files: 100 });
  const numbers = Array.from({ length: 50 }, (_, n) => `change ${n}`);
  await Promise.all(numbers.map((message) => audit.add([{ ...change, message }])));
  const files = (await readdir(join(path, ".."))).map((name) => join(path, "..", name));
  const kept = (await Promise.all(files.map(linesOf))).flat().map(({ message }) => message);
  expect(kept.toSorted()).toEqual(numbers.toSorted());
});

test("two that write to one file lose no line and tear none, while it is put aside again and again", async () => {
  const folder = await folderForTest();
  const shared = { fileBytes: 2_000, files: 100, isShared: true };
  const [old, next] = [opened(folder, shared), opened(folder, shared)];
  const numbers = Array.from({ length: 60 }, (_, n) => `change ${n}`);
  await Promise.all(numbers.map((message, n) => (n % 2 === 0 ? old : next).audit.add([{ ...change, message }])));
  old.audit[Symbol.dispose]();
  await next.audit.add([{ ...change, message: "the last" }]);
  const files = (await readdir(folder)).filter((name) => !name.endsWith(".lock")).map((name) => join(folder, name));
  const kept = (await Promise.all(files.map(linesOf))).flat().map(({ message }) => message);
  expect(kept.toSorted()).toEqual([...numbers, "the last"].toSorted());
  expect(old.logged.concat(next.logged)).toEqual([]);
});

test("what one that shares the file was killed at is cut off by the other, and reported", async () => {
  const { audit, path } = opened(await folderForTest(), { isShared: true });
  audit.addNow(change);
  await appendFile(path, '{"half');
  audit.addNow({ ...change, message: "next" });
  audit[Symbol.dispose]();
  expect(await linesOf(path)).toMatchObject([
    { message: change.message },
    { message: "next" },
    { "event.action": "audit-log-healed", gatehouse: { before: '{"half' } },
  ]);
});

test("a file that somebody moves away is followed by another", async () => {
  const { audit, path } = opened(await folderForTest());
  audit.addNow(change);
  await rename(path, `${path}.moved`);
  audit.addNow({ ...change, message: "next" });
  expect(await linesOf(path)).toMatchObject([{ message: "next" }]);
});

test("what the disk does not take is reported in the log, and written once it can be", async () => {
  const folder = await folderForTest();
  const target = join(folder, "elsewhere");
  await writeFile(target, "");
  await symlink(target, join(folder, "audit.jsonl"));
  const { audit, path, logged } = opened(folder);
  audit.addNow(change);
  await audit.add([change]);
  expect(logged).toMatchObject([{ "event.action": "audit-not-written", "error.code": "ELOOP" }]);
  expect(await readFile(target, "utf8")).toBe("");
  await rm(path);
  await audit.add([{ ...change, message: "next" }]);
  expect((await linesOf(path)).map(({ message }) => message)).toEqual([change.message, change.message, "next"]);
  expect(logged.at(-1)).toMatchObject({ "event.action": "audit-written-again" });
});

test("a disk that hangs is left alone until it answers; what was given up meanwhile is counted", async () => {
  const { audit, path, disk } = opened(await folderForTest(), { fileBytes: 1_000_000 });
  disk.isReachable = false;
  for (let n = 0; n < 1_005; n += 1) audit.addNow({ ...change, message: `change ${n}` });
  expect(await readdir(join(path, ".."))).toEqual([]);
  disk.isReachable = true;
  audit.addNow({ ...change, message: "next" });
  const lines = await linesOf(path);
  expect(lines).toHaveLength(1_001);
  expect(lines[0]).toMatchObject({ message: "change 6" });
  expect(lines.at(-1)).toMatchObject({ "event.action": "audit-lines-lost", message: expect.stringMatching(/^6 /) });
});

test("what was reported as written is there after kill -9, whatever the process was at", async () => {
  const folder = await folderForTest();
  const program = join(import.meta.dirname, "../../test/daemon/auditing.main.ts");
  const path = join(folder, "audit.jsonl");
  const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] });
  let reported = "";
  for await (const chunk of child.stdout) {
    reported += String(chunk);
    if (reported.split("\n").length > 60) break;
  }
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  const { audit } = opened(folder);
  audit[Symbol.dispose]();
  const files = (await readdir(folder)).map((name) => join(folder, name));
  const kept = new Set((await Promise.all(files.map(linesOf))).flat().map(({ message }) => message));
  const numbers = reported.slice(0, reported.lastIndexOf("\n")).split("\n");
  expect(numbers.filter((message) => !kept.has(message))).toEqual([]);
});
