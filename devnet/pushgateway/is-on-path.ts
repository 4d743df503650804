import { spawn } from "node:child_process";
import { once } from "node:events";

const versionDeadlineMs = 5_000;

/** Whether a program can be run by its name alone: asks it for its version. */
export async function isOnPath(program: string): Promise<boolean> {
  const child = spawn(program, ["--version"], { stdio: "ignore", timeout: versionDeadlineMs });
  try {
    const [status] = await once(child, "exit");
    return status === 0;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EACCES") return false;
    throw error;
  }
}
