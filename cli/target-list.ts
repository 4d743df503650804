import { explainUnreadable, readNamedText } from "#daemon/files/regular-file.ts";
import { isTarget, listTargetLines, parseTargets, TargetError, type Target } from "#sidecar/overview/targets.ts";

/** Max bytes read from a targets file; no list is longer. */
const fileBytesMax = 65_536;

/**
 * Reads the values of `--targets`: targets, and files with one target per line.
 *
 * @throws {TargetError} if a value is neither, or a list can't be used.
 */
export function readTargets(where: readonly string[]): readonly Target[] {
  return parseTargets(where.flatMap((one) => (isTarget(one) ? [one] : listTargetLines(readFile(one)))));
}

function readFile(path: string): string {
  try {
    return readNamedText(path, fileBytesMax);
  } catch (cause) {
    const message = `${path} is neither a URL nor a readable file (${explainUnreadable(cause)}).`;
    throw new TargetError(message, { cause });
  }
}
