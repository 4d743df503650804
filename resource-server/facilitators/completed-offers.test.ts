import type { PaymentRequirements } from "@x402/core/types";
import { expect, test } from "vitest";
import type { Route } from "../routes/route.ts";
import { completeRoutes } from "./completed-offers.ts";
import type { SupportedKinds } from "./facilitation.ts";

const on = (network: PaymentRequirements["network"]): PaymentRequirements => ({
  scheme: "exact",
  network,
  amount: "1",
  asset: `0x${"0a".repeat(20)}`,
  payTo: `0x${"02".repeat(20)}`,
  maxTimeoutSeconds: 60,
  extra: {},
});
const offers = [on("eip155:1672"), on("eip155:1673")];
const route: Route = {
  key: "GET /data",
  method: "GET",
  path: "/data",
  accepts: offers,
  description: undefined,
  mimeType: undefined,
  upstream: undefined,
  token: undefined,
};

test("an offer on a network that is not settled now is not made, and a payment signed for it is still taken", () => {
  const extensions: string[] = [];
  const state: { kinds: SupportedKinds["kinds"] } = { kinds: [] };
  const find = completeRoutes({ find: () => route, taken: () => offers }, () => ({ ...state, extensions }));
  expect(find("GET", "/data")?.route, "nothing is known yet").toBe(route);
  state.kinds = [{ x402Version: 2, scheme: "exact", network: "eip155:1672", extra: undefined }];
  expect(find("GET", "/data")?.route.accepts).toEqual(offers.slice(0, 1));
  expect(find("GET", "/data")?.taken()).toEqual(offers);
  expect(find("GET", "/data"), "the same until the list changes").toBe(find("GET", "/data"));
});
