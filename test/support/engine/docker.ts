import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const deadlineMs = 60_000;
const outputLimitBytes = 16_777_216;

/**
 * Runs Docker's own command line against the engine of the tests, so that what a driver did is judged by another program.
 *
 * @throws {Error} with what the command printed.
 */
export async function runDocker(...args: readonly string[]): Promise<string> {
  const { stdout } = await run("docker", args, { timeout: deadlineMs, maxBuffer: outputLimitBytes });
  return stdout.trim();
}
