import { isLoopback } from "#daemon/http/loopback.ts";
import { environmentName } from "#daemon/settings/leaf.ts";
import { StartupError } from "#daemon/startup-error.ts";
import type { FacilitatorSettings } from "../settings.ts";

/** Settings that say who is served. */
export type ServedCallers = Pick<FacilitatorSettings, "apiKeys" | "payees" | "openToAnybody"> &
  Readonly<{ listen: Readonly<{ host: string }> }>;

/**
 * Refuses to pay the gas of anybody's payments by oversight: who can reach the facilitator from another machine needs an API key, or
 * gets only payments to the listed payees settled.
 *
 * @throws {StartupError} when it listens beyond loopback, has neither list, and no setting says that this is meant.
 */
export function refuseServingAnybody({ listen: { host }, apiKeys, payees, openToAnybody }: ServedCallers): void {
  if (isLoopback(host) || apiKeys !== undefined || payees.length > 0 || openToAnybody) return;
  throw new StartupError(
    `${name("listen", "host")} is ${host}, which other machines can reach, and the signer would pay the gas of any payment to ` +
      `anybody. Set ${name("payees")} to the accounts that may be paid, or ${name("apiKeys")} to the keys of those who may call; ` +
      `${name("openToAnybody")}=true serves everybody all the same.`,
  );
}

function name(...path: readonly string[]): string {
  return environmentName("facilitator", path);
}
