import { StartupError } from "#daemon/process/startup-error.ts";
import { pauseInBackground } from "#daemon/time.ts";
import type { SoldRoutes } from "../routes/sold-routes.ts";
import { nameSetting, type ResourceServerSettings } from "../settings.ts";
import type { Facilitation } from "./facilitation.ts";
import type { FacilitationDependencies } from "./facilitator-in-process.ts";
import { createFacilitatorOverHttp } from "./facilitator-over-http.ts";

/** Max time for which startup waits for the first check of the facilitator. */
const firstCheckMs = 5_000;

/**
 * Opens the facilitator for the offered schemes: the configured one, or one in this process.
 *
 * @throws {StartupError} when there is no facilitator URL and a setting required for local settlement is missing, or when both are
 * configured.
 */
export async function openFacilitation(
  settings: ResourceServerSettings,
  { kinds, current }: Pick<SoldRoutes, "kinds" | "current">,
  parts: FacilitationDependencies,
): Promise<Facilitation> {
  const { url } = settings.facilitator;
  const { privateKey, rpcUrl } = settings.settlement;
  const offers = () => current().flatMap(({ accepts }) => accepts);
  if (url !== undefined) {
    if (privateKey === undefined) {
      const facilitator = createFacilitatorOverHttp({ ...settings.facilitator, url, kinds, offers }, parts);
      // So that even the first request gets a price, if the facilitator responds.
      await Promise.race([facilitator.checked, pauseInBackground(firstCheckMs, parts.signal)]);
      return facilitator;
    }
    throw new StartupError(
      `${nameSetting("facilitator", "url")} and ${nameSetting("settlement", "privateKey")} are both set; the facilitator settles ` +
        `with its own key. Remove one of the two.`,
    );
  }
  if (privateKey === undefined || rpcUrl === undefined) {
    const names = Object.entries({ privateKey, rpcUrl })
      .flatMap(([key, value]) => (value === undefined ? [nameSetting("settlement", key)] : []))
      .join(" and ");
    throw new StartupError(
      `${nameSetting("facilitator", "url")} is not set, so this process settles payments, which requires ${names}. ` +
        `Set ${names}, or the facilitator's URL.`,
    );
  }
  // Lazy import, because it takes most of the startup time.
  const { createFacilitatorInProcess } = await import("./facilitator-in-process.ts");
  return createFacilitatorInProcess({ ...settings, keys: privateKey, rpcUrl, offers: offers() }, parts);
}
