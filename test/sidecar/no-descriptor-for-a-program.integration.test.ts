import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

const runOps = join(import.meta.dirname, "../../cli/stack/node-process.ts");

/** Uses up all descriptors of a process that has few, and runs programs before and after releasing them. */
const program = `
  import { closeSync, openSync } from "node:fs";
  import { runProcess } from "#daemon/process/bounded-process.ts";
  const { runOps } = await import(process.env.RUN_OPS);
  const options = { command: ["/bin/echo", "hello"], directory: "/", timeoutMs: 5_000, outputLimitBytes: 100, signal: new AbortController().signal };
  const taken = [];
  try {
    for (;;) taken.push(openSync("/dev/null"));
  } catch (error) {
    if (error.code !== "EMFILE") throw error;
  }
  const without = await runProcess(options);
  const ops = await runOps(["start"], { directory: "/", deadlineMs: 5_000 }).catch((error) => error.message);
  for (const descriptor of taken) closeSync(descriptor);
  const after = await runProcess(options);
  console.log(JSON.stringify([without.message, ops, after.output]));
`;

test("reports a program that can't run for lack of file descriptors as failed, without exiting", async () => {
  const command = `ulimit -n 64 && exec "${process.execPath}" --input-type=module --eval "$PROGRAM"`;
  const { stdout } = await run("sh", ["-c", command], {
    env: { ...process.env, PROGRAM: program, RUN_OPS: runOps },
    timeout: 20_000,
  });
  const [without, ops, after] = JSON.parse(stdout) as string[];
  expect(without).toMatch(
    /^\/bin\/echo can't be run: this process has no file descriptors left \(EMFILE\); .*ulimit -n/,
  );
  expect(ops).toMatch(/^\.\/ops start in \/ can't be run: .*EMFILE/);
  expect(after).toBe("hello\n");
});
