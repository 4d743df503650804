import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { lookup, lookupService } from "node:dns";
import { open, readdir, stat } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { listThreadPoolCalls } from "./end-process.ts";

type Call = Readonly<{ what: string; start: (done: () => void) => void }>;

const calls: readonly Call[] = [
  { what: "a file status call", start: (done) => stat("/", done) },
  { what: "a directory listing", start: (done) => readdir("/", done) },
  { what: "a file opening", start: (done) => open("/nowhere", "r", done) },
  { what: "an address lookup", start: (done) => lookup("localhost", done) },
  { what: "a name lookup", start: (done) => lookupService("127.0.0.1", 80, done) },
];

describe("the list of calls in Node's thread pool", () => {
  it.each(calls)("includes $what until it completes", async ({ start }) => {
    const { promise: done, resolve } = Promise.withResolvers<void>();
    // A call stays in Node's list briefly after it has finished.
    await expect.poll(listThreadPoolCalls).toEqual([]);
    start(resolve);
    expect(listThreadPoolCalls()).toHaveLength(1);
    await done;
  });

  it("excludes a timer", async () => {
    await expect.poll(listThreadPoolCalls).toEqual([]);
    const timer = setTimeout(() => undefined, 1_000);
    expect(listThreadPoolCalls()).toEqual([]);
    clearTimeout(timer);
  });
});

const program = pathToFileURL(join(import.meta.dirname, "end-process.ts")).href;

async function endAfter(lines: string): Promise<Readonly<{ status: unknown; signal: unknown }>> {
  const source = `import { endProcess } from ${JSON.stringify(program)};\n${lines}\nawait endProcess(3);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: "inherit",
    timeout: 30_000,
  });
  const [status, signal] = (await once(child, "exit")) as readonly unknown[];
  return { status, signal };
}

describe("a terminated process", () => {
  it("exits with the given status", async () => {
    expect(await endAfter("")).toEqual({ status: 3, signal: null });
  });

  it("does not wait for a file that never responds", async () => {
    // Opening a pipe without a writer blocks forever.
    const pipe = join(await makeTestDirectory(), "pipe");
    execFileSync("mkfifo", [pipe]);
    const hangs = `import { open } from "node:fs";\nopen(${JSON.stringify(pipe)}, "r", () => undefined);`;
    expect(await endAfter(hangs)).toEqual({ status: null, signal: "SIGKILL" });
  });
});
