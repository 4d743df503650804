import { StartupError } from "#daemon/process/startup-error.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { SettingsError } from "#daemon/settings/problem.ts";

/**
 * Runs a command against a ledger and returns its exit status. If the command fails for a reason that the operator can remedy (settings,
 * ledger, node), prints one line to standard error and returns 1. Disposes of the command's resources at the end.
 */
export async function reportFailure(
  name: string,
  { mask }: Readonly<{ mask: Mask }>,
  run: (resources: AsyncDisposableStack) => Promise<number>,
): Promise<number> {
  try {
    await using resources = new AsyncDisposableStack();
    return await run(resources);
  } catch (error) {
    const isExpected = error instanceof SettingsError || error instanceof StartupError;
    if (!isExpected && !(error instanceof Error && "code" in error)) throw error;
    process.stderr.write(`${error instanceof SettingsError ? "" : `${name}: `}${mask.text(error.message)}\n`);
    return 1;
  }
}
