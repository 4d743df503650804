import { Registry } from "prom-client";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { createLog } from "#daemon/log/log.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { openSoldRoutes, type SoldRoutes } from "../routes/sold-routes.ts";
import type { ResourceServerSettings } from "../settings.ts";

export const payTo = `0x${"01".repeat(20)}` as const;
export const token = { address: `0x${"aa".repeat(20)}`, name: "USDC", version: "2" } as const;

/** Opens a routes file with a facilitator, or without one but with these additional networks; `clock` returns Unix ms. */
export function openTestRoutes(
  routesPath: string,
  {
    networks,
    clock,
    onRoutes = () => undefined,
  }: Readonly<{ networks?: readonly number[]; clock?: () => number; onRoutes?: () => void }> = {},
): Promise<SoldRoutes> {
  const settings = {
    routesPath,
    listen: { host: "127.0.0.1", port: 4021 },
    chain: { id: 1672 },
    token,
    payTo,
    payment: { validitySeconds: 300, formerOfferMs: 60_000 },
    accessTokens: { privateKey: "set" },
    facilitator: { url: networks === undefined ? "http://facilitator.test" : undefined },
    settlement: { networks: (networks ?? []).map((id) => ({ id })) },
  } as unknown as ResourceServerSettings;
  const log = createLog({ service: "test", level: "silent" });
  const mask = { ...createMask(), hide: onRoutes };
  return openSoldRoutes(settings, { log, files: createActiveFiles(new Registry()), mask }, clock);
}
