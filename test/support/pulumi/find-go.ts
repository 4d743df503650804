import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { promisify } from "node:util";

const run = promisify(execFile);
const deadlineMs = 120_000;

export type TestGo = Readonly<{ ok: true } | { ok: false; message: string }>;

/**
 * Looks for the command `go`, and whether it has a module or can download it.
 *
 * @param module path and version, in the format of `go mod download`.
 */
export async function findGo(module: string): Promise<TestGo> {
  try {
    await run("go", ["mod", "download", module], { cwd: tmpdir(), timeout: deadlineMs });
    return { ok: true };
  } catch (error) {
    const { code, message } = error as Error & Readonly<{ code?: unknown }>;
    if (code === "ENOENT") return { ok: false, message: "no command go; install Go (https://go.dev/doc/install)" };
    return { ok: false, message: `no ${module}: ${message.trim().split("\n").at(-1)?.trim() ?? ""}` };
  }
}
