import { isLoopback } from "#daemon/http/address.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { nameSetting } from "./setting-name.ts";
import type { NetworkOptions } from "./network-options.ts";
import { allowsZero, type FacilitatorSettings } from "./settings.ts";

export type ServedCallers = Pick<FacilitatorSettings, "apiKeys" | "openToAnybody"> &
  Readonly<{ listen: Readonly<{ host: string }>; networks: readonly Pick<NetworkOptions, "payees" | "assets">[] }>;

/**
 * Prevents the signer from accidentally paying gas for arbitrary payments: callers on other machines need an API key, or can settle only
 * payments to listed payees, of at least a configured amount.
 *
 * @throws {StartupError} when it listens beyond loopback without API keys, and allows any payee or has tokens without a minimum, unless
 * `openToAnybody` is set.
 */
export function requireRestrictedCallers({ listen: { host }, apiKeys, openToAnybody, networks }: ServedCallers): void {
  if (isLoopback(host) || apiKeys !== undefined || openToAnybody) return;
  const exposedListener = `${nameSetting("listen", "host")} is ${host}, which other machines can reach, and the signer would pay the gas of`;
  if (networks.some(({ payees }) => payees.length === 0)) {
    throw new StartupError(
      `${exposedListener} any payment to anyone. Set ${nameSetting("payees")} to the accounts that may be paid, or ${nameSetting("apiKeys")} to the ` +
        `keys of the allowed callers; to serve everyone anyway, set ${nameSetting("openToAnybody")}=true.`,
    );
  }
  const assets = networks.flatMap((network) => network.assets);
  const free = assets.find(allowsZero);
  if (free === undefined) return;
  throw new StartupError(
    `${exposedListener} payments of one smallest unit of ${free.address}. Add minAmount to it in ${nameSetting("assets")}: your lowest price, in that ` +
      `unit; or nativePrice: what one unit of the native currency costs, in that unit.`,
  );
}
