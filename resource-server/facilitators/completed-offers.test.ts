import { expect, test } from "vitest";
import { offer, route as sold } from "../testing/payments.ts";
import { completeRoutes } from "./completed-offers.ts";
import type { SupportedKinds } from "./facilitation.ts";

const offers = (["eip155:1672", "eip155:1673"] as const).map((network) => Object.assign({}, offer, { network }));
const route = { ...sold, accepts: offers };

test("hides an offer on an unavailable network, but accepts a payment signed for it", () => {
  const extensions: string[] = [];
  const state: { kinds: SupportedKinds["kinds"] } = { kinds: [] };
  const kinds = offers.map(({ scheme, network }) => ({ scheme, network }));
  const find = completeRoutes({ find: () => route, taken: () => offers, kinds }, () => ({ ...state, extensions }));
  expect(find("GET", "/data")?.route, "nothing is known yet").toBe(route);
  state.kinds = [{ x402Version: 2, scheme: "exact", network: "eip155:1672", extra: undefined }];
  expect(find("GET", "/data")?.route.accepts).toEqual(offers.slice(0, 1));
  expect(find("GET", "/data")?.taken()).toEqual(offers);
  expect(find("GET", "/data"), "the same until the list changes").toBe(find("GET", "/data"));
});

test("accepts a payment that needs the facilitator's address even after its kind became unavailable", () => {
  const upto = { ...offer, scheme: "upto", network: "eip155:1672" as const };
  const state: { kinds: SupportedKinds["kinds"] } = { kinds: [] };
  const routes = {
    find: () => route,
    taken: () => [upto],
    kinds: [{ scheme: "upto", network: "eip155:1672" as const }],
  };
  const find = completeRoutes(routes, () => ({ ...state, extensions: [] }));
  const extra = { facilitatorAddress: `0x${"05".repeat(20)}` };
  state.kinds = [{ x402Version: 2, scheme: "upto", network: "eip155:1672", extra }];
  const [completedOffer] = find("GET", "/data")?.taken() ?? [];
  expect(completedOffer?.extra).toMatchObject(extra);
  state.kinds = [];
  expect(find("GET", "/data")?.taken()).toEqual([completedOffer]);
});
