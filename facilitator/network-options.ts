import { StartupError } from "#daemon/process/startup-error.ts";
import type { FacilitatorSettings } from "./settings.ts";

export type NetworkSeller = Pick<FacilitatorSettings["sellers"][number], "name" | "payees" | "assets" | "gasPerDay">;

export type NetworkOptions = Pick<FacilitatorSettings, "chain" | "assets" | "payees" | "settlement"> &
  Readonly<{
    /** Sellers by name; undefined for a seller that may not use the network. */
    sellers: ReadonlyMap<string, NetworkSeller | undefined>;
  }>;

type NetworksSettings = Pick<FacilitatorSettings, "chain" | "assets" | "payees" | "settlement"> &
  Partial<Pick<FacilitatorSettings, "networks" | "sellers">>;

/**
 * Lists the networks of a facilitator: first `chain`, then `networks`, which inherit omitted settings from the first.
 *
 * @throws {StartupError} when two have the same chain id.
 */
export function listNetworks({
  networks = [],
  sellers = [],
  chain,
  assets,
  payees,
  settlement,
}: NetworksSettings): readonly NetworkOptions[] {
  const first = {
    chain,
    assets,
    payees,
    settlement,
    sellers: new Map(sellers.map((seller) => [seller.name, seller])),
  };
  const furtherNetworks = networks.map((network) => ({
    ...network,
    payees: network.payees ?? payees,
    settlement: { ...settlement, ...network.settlement },
    sellers: new Map(
      sellers.map(({ name, payees: paid, networks: used = [] }) => {
        const limits = used.find(({ id }) => id === network.chain.id);
        return [name, limits && { ...limits, name, payees: limits.payees ?? paid }];
      }),
    ),
  }));
  const ids = [first, ...furtherNetworks].map((network) => network.chain.id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice === undefined) return [first, ...furtherNetworks];
  throw new StartupError(`chain ${twice} is configured twice; list each chain once, in chain.id or in networks.`);
}
