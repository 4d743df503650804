import { closeSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openLogFile, trimLogFile } from "./log-file.ts";

const tooMuch = "x".repeat(10_485_761);

function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return { log: join(folder, "gateway.log"), victim: join(folder, "victim") };
}

test("keeps a log above the limit as .1, and appends to the same file", () => {
  const { log } = makeFolder();
  writeFileSync(log, tooMuch);
  writeFileSync(`${log}.1`, "older");
  const file = openLogFile(log);
  expect(readFileSync(`${log}.1`, "utf8")).toBe(tooMuch);
  expect(statSync(`${log}.1`).mode & 0o777).toBe(0o600);
  writeSync(file, "started\n");
  trimLogFile(log);
  closeSync(file);
  expect(readFileSync(log, "utf8")).toBe("started\n");
});

test("rejects a log that is a symbolic link, and leaves the file behind it unchanged", () => {
  const { log, victim } = makeFolder();
  writeFileSync(victim, tooMuch);
  symlinkSync(victim, log);
  expect(() => openLogFile(log)).toThrow(`${log} is a symbolic link; remove it`);
  expect(() => trimLogFile(log)).toThrow(`${log} is a symbolic link; remove it`);
  expect(readFileSync(victim, "utf8")).toBe(tooMuch);
});

test("replaces a symbolic link in the place of .1, and leaves the file behind it unchanged", () => {
  const { log, victim } = makeFolder();
  writeFileSync(log, tooMuch);
  writeFileSync(victim, "victim");
  symlinkSync(victim, `${log}.1`);
  trimLogFile(log);
  expect(readFileSync(victim, "utf8")).toBe("victim");
  expect(readFileSync(`${log}.1`, "utf8")).toBe(tooMuch);
  expect(statSync(log).size).toBe(0);
});
