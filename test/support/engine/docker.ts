import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const deadlineMs = 60_000;
const outputLimitBytes = 16_777_216;

/**
 * Runs Docker's own command line against the tests' engine, so that another program verifies a driver's work.
 *
 * @throws {Error} with the command's output.
 */
export async function runDocker(...args: readonly string[]): Promise<string> {
  const { stdout } = await run("docker", args, { timeout: deadlineMs, maxBuffer: outputLimitBytes });
  return stdout.trim();
}
