import type { Registry } from "prom-client";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ServiceContext } from "#daemon/service.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { Facilitation } from "./facilitation.ts";
import { createFacilitatorOverHttp } from "./facilitator-over-http.ts";
import type { HttpClient } from "../http-client.ts";
import type { SoldRoutes } from "../sold-routes.ts";
import { resourceServerSettings, type ResourceServerSettings } from "../settings.ts";

export type FacilitationDependencies = Readonly<{
  client: HttpClient;
  log: Logger;
  audit: AuditLog;
  metrics: Registry;
  clock: () => number;
  signal: AbortSignal;
}> &
  Pick<ServiceContext, "isHandedOver" | "yields">;

/**
 * Opens the facilitator for the offered schemes: the configured one, or one in this process.
 *
 * @throws {StartupError} when there is no facilitator URL and a setting required for local settlement is missing, or when both are
 * configured.
 */
export async function openFacilitation(
  settings: ResourceServerSettings,
  { kinds, current }: Pick<SoldRoutes, "kinds" | "current">,
  dependencies: FacilitationDependencies,
): Promise<Facilitation> {
  const { url, ...how } = settings.facilitator;
  if (url !== undefined) {
    if (settings.settlement.privateKey !== undefined) {
      throw new StartupError(
        `${nameSetting("facilitator", "url")} and ${nameSetting("settlement", "privateKey")} are both set; the facilitator settles ` +
          `with its own key. Remove one of the two.`,
      );
    }
    const offers = () => current().flatMap(({ accepts }) => accepts);
    return createFacilitatorOverHttp({ url, ...how, kinds, offers }, dependencies);
  }
  const { privateKey, rpcUrl } = settings.settlement;
  if (privateKey === undefined || rpcUrl === undefined) {
    const missing = [...(privateKey === undefined ? ["privateKey"] : []), ...(rpcUrl === undefined ? ["rpcUrl"] : [])];
    const names = missing.map((key) => nameSetting("settlement", key)).join(" and ");
    throw new StartupError(
      `${nameSetting("facilitator", "url")} is not set, so this process settles payments, which requires ${names}. ` +
        `Set ${names}, or the facilitator's URL.`,
    );
  }
  // Lazy import, because it takes most of the startup time.
  const { createFacilitatorInProcess } = await import("./facilitator-in-process.ts");
  const offers = current().flatMap(({ accepts }) => accepts);
  return createFacilitatorInProcess({ ...settings.settlement, privateKey, rpcUrl }, settings, {
    ...dependencies,
    offers,
  });
}

function nameSetting(...path: readonly string[]): string {
  return toEnvironmentName(resourceServerSettings.service, path);
}
