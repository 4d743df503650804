import type { z } from "zod";
import { PriceError, convertPriceToAmount } from "#x402/price.ts";
import { offersSchema, routeFileSchema, type RouteOffer } from "./route-file.ts";

/**
 * Lists the problems in a routes file for a server whose default token is on a network: one line per problem, with the
 * route and the field. Empty if it is valid. `networks` are those on which the server settles; default: any, because a
 * facilitator settles for it.
 */
export function findRouteProblems(
  content: unknown,
  network: string,
  { networks }: Readonly<{ networks?: readonly string[] | undefined }> = {},
): readonly string[] {
  const { error } = routeFileSchema.safeParse(content);
  const offers = Object.entries(offersSchema.safeParse(content).data ?? {}).flatMap(([key, route]) =>
    [route?.accepts ?? []]
      .flat()
      .flatMap((offer) => findOfferProblems(offer, network, networks).map((text) => `${key}: accepts.${text}`)),
  );
  return [...describeSchemaIssues(error?.issues ?? []), ...offers];
}

type Issue = z.core.$ZodIssue;

function describeSchemaIssues(issues: readonly Issue[]): readonly string[] {
  return issues.flatMap((issue) => {
    const route = issue.path.map(String);
    return listInnermost(issue).map(({ path, message }) => {
      const place = [...route, ...path.map(String)].join(": ") || "the whole file";
      return `${place}: ${message}.`;
    });
  });
}

type Problem = Readonly<{ path: readonly PropertyKey[]; message: string }>;

/** Lists the problems within an issue of a key, or of a union: those of the intended alternative. */
function listInnermost(issue: Issue): readonly Problem[] {
  if (issue.code === "invalid_key") return issue.issues.map(({ message }) => ({ path: [], message }));
  if (issue.code !== "invalid_union") return [{ path: [], message: issue.message }];
  return issue.errors.find((inner) => inner.some(({ path }) => path.length > 0)) ?? issue.errors[0] ?? [];
}

function findOfferProblems(offer: RouteOffer, network: string, networks: readonly string[] | undefined): string[] {
  const problems: string[] = [];
  if (offer.network !== network && offer.asset === undefined) {
    problems.push(
      `network: found "${offer.network}"; this server charges on "${network}" only (setting chain.id), unless the offer names its asset.`,
    );
  } else if (networks?.includes(offer.network) === false) {
    const settled = networks.map((each) => `"${each}"`).join(" or ");
    problems.push(
      `network: found "${offer.network}"; this server settles on ${settled} (setting settlement.networks).`,
    );
  }
  if (offer.assetTransferMethod !== undefined && offer.scheme === "upto")
    problems.push(`assetTransferMethod: scheme "${offer.scheme}" has its own; remove it.`);
  try {
    convertPriceToAmount(offer.price, offer.asset?.decimals);
  } catch (error) {
    if (!(error instanceof PriceError)) throw error;
    problems.push(`price: ${error.message}`);
  }
  return problems;
}
