import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const deadlineMs = 60_000;

export type TestPython = Readonly<{ ok: true } | { ok: false; message: string }>;

/**
 * Looks for the tools with which Pulumi creates a Python program's environment: `python3` with its modules venv and
 * pip, and pip's index.
 *
 * @param requirement a package that the program needs, in pip's format.
 */
export async function findPython(requirement: string): Promise<TestPython> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-python-"));
  // pip reads its settings from the home directory only, as for a consumer's program.
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
  const bounded = ["--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "10"];
  const download = ["-m", "pip", "download", "--quiet", "--no-deps", ...bounded, "--dest", folder, requirement];
  const steps = [
    { lacks: "no python3 with venv and pip", program: "python3", args: ["-m", "venv", folder] },
    {
      lacks: `no ${requirement} from pip's index`,
      program: join(folder, "bin/python"),
      args: download,
    },
  ];
  try {
    for (const { lacks, program, args } of steps) {
      try {
        await run(program, args, { env, timeout: deadlineMs });
      } catch (error) {
        const [why = ""] = (error as Error).message.trim().split("\n").slice(-1);
        return { ok: false, message: `${lacks}: ${why}` };
      }
    }
    return { ok: true };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
