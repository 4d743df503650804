import { runProcess } from "#daemon/process/bounded-process.ts";
import { startStep } from "#daemon/process/start-step.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { privateKeys } from "#daemon/settings/types.ts";

const timeoutMs = 30_000;
const outputLimitBytes = 16_384;

/**
 * Runs the program that prints private keys, one per line. It gets a small fixed environment, and nothing that it prints is logged.
 *
 * @throws {StartupError} when it fails, or prints something else.
 */
export async function readPrintedKeys(
  command: readonly [string, ...string[]],
  { signal }: Readonly<{ signal: AbortSignal }>,
): Promise<readonly Secret[]> {
  const [file] = command;
  const options = { command, directory: process.cwd(), timeoutMs, outputLimitBytes, signal };
  const result = await startStep(`the program of signer.command (${file})`, () => runProcess(options));
  if (!result.ok) {
    // The message of a program that ran may quote its output.
    const why = result.said === undefined ? result.message : `${file} failed; run it manually to see why.`;
    throw new StartupError(`signer.command: ${why}`);
  }
  const keys = privateKeys.safeParse(result.output);
  if (keys.success) return keys.data;
  throw new StartupError(
    `signer.command: ${file} must print private keys of 64 hexadecimal digits each, one per line.`,
  );
}
