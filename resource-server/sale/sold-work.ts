import type { TokenIssuer } from "../tokens/token-issuer.ts";
import type { PaidRequest, Upstream, UpstreamResult } from "../upstream/upstream.ts";

/** Does what a paid request is for: issues a token where the route sells one, else forwards to the route's upstream. */
export function createSoldWork(upstream: Upstream, issuer: TokenIssuer | undefined) {
  return async (request: PaidRequest, payer: string): Promise<UpstreamResult> => {
    const { token } = request.route;
    if (token === undefined) return upstream(request);
    if (issuer === undefined) return { kind: "failed", status: 503, message: "no key to sign tokens with" };
    return { kind: "resource", response: await issuer.issue(payer, token) };
  };
}
