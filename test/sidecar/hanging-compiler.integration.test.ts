import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { root } from "../style/rooms.ts";
import { isLong } from "../support/run-size.ts";

/** Factor by which the compiler's timeout is shortened. */
const sooner = isLong ? 1 : 20;

/**
 * Makes the process that compiles for the sidecar's first start hang and ignore SIGTERM, as if its main thread were waiting in V8; its
 * timeout is shortened.
 */
const hanging = `
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
const { spawn } = childProcess;
childProcess.spawn = (command, args, options) => spawn(command, args, { ...options, timeout: options.timeout / ${sooner} });
syncBuiltinESMExports();
if (process.argv[2] === "compile-sidecar") {
  process.on("SIGTERM", () => undefined);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}`;

it("starts even if its compiler process never exits", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "hanging-compiler-"));
  const preload = join(directory.path, "hanging.mjs");
  await writeFile(preload, hanging);
  const missing = join(directory.path, "settings.json5");
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: join(directory.path, "cache"),
    NODE_OPTIONS: `--import ${preload}`,
  };
  const child = spawn(process.execPath, [join(root, "cli/gatehouse.js"), "sidecar", "--settings", missing], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 90_000,
    killSignal: "SIGKILL",
  });
  const [said, [status]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  expect({ said, status }).toEqual({ said: expect.stringContaining(missing), status: 1 });
});
