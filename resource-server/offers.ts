import { requirePayment, type Answer } from "./payment-answers.ts";
import type { Route } from "./routes/route.ts";
import type { SellingRequest } from "./selling-request.ts";

/** Returns the response to a request without a payment. */
export type RememberedOffers = (route: Route, request: SellingRequest, isHead: boolean) => Answer;

/** Responses remembered per route: clients choose the URL that a response names. */
const rememberedMax = 256;

/** Creates the requests for payment, and remembers them until their route changes: encoding one costs more than all the rest of its request. */
export function rememberOffers({ publicUrl }: Readonly<{ publicUrl: string | undefined }>): RememberedOffers {
  const byRoute = new WeakMap<Route, Map<string, Answer>>();
  return (route, { incoming: { url: target = "" }, url }, isHead) => {
    const answers = byRoute.get(route) ?? new Map<string, Answer>();
    const name = `${isHead ? "HEAD" : "GET"} ${publicUrl === undefined ? url : target}`;
    const known = answers.get(name);
    if (known !== undefined) return known;
    const reason = `PAYMENT-SIGNATURE header is required${isHead ? ", with GET" : ""}`;
    const answer = requirePayment(route, new URL(target, publicUrl ?? url).href, reason);
    if (answers.size === rememberedMax) answers.clear();
    byRoute.set(route, answers.set(name, answer));
    return answer;
  };
}
