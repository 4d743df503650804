import { z } from "zod";
import { getJson } from "#daemon/http/get.ts";
import { maskCredentials } from "#daemon/secrets/mask.ts";
import { checkLimits } from "../answers.ts";
import { createFindings, type Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import type { UsedFacilitator } from "../known-service.ts";

const look = createFindings("facilitator");
const supported = z.object({ kinds: z.array(z.object({ network: z.string() })) });

/** Checks that the resource server's facilitator accepts its key and settles on its chain. */
export const facilitatorCheck: Check = async ({ services }) => {
  const seller = services.find(({ service }) => service === "resource-server");
  if (seller === undefined) return [look("facilitator", "skipped", "no resource server is looked at")];
  if (seller.settings === undefined || !seller.settings.ok) {
    return [look("facilitator", "skipped", "the resource server's settings are not known, nor its facilitator's URL")];
  }
  const { facilitator } = seller.settings.facts;
  if (facilitator === undefined)
    return [look("facilitator", "skipped", "the resource server settles in its own process")];
  return [await checkFacilitator(facilitator)];
};

async function checkFacilitator({ url, apiKey, network }: UsedFacilitator): Promise<Finding> {
  const shown = maskCredentials(url);
  const headers = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey.reveal()}` };
  const got = await getJson(`${url.replace(/\/$/, "")}/supported`, { ...checkLimits, headers });
  if (!got.ok) {
    return look(
      "facilitator",
      "wrong",
      `${shown} gives no answer (${got.why}); start it, or set GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL to where it runs`,
    );
  }
  if (got.status === 401) {
    return look(
      "facilitator",
      "wrong",
      `${shown} does not take the resource server's API key; set GATEHOUSE_RESOURCE_SERVER_FACILITATOR_API_KEY_FILE to one that it has among its apiKeys`,
    );
  }
  const kinds = supported.safeParse(got.body);
  if (!kinds.success)
    return look(
      "facilitator",
      "wrong",
      `${shown}/supported answers HTTP ${got.status}, and not as a facilitator does; is the URL right?`,
    );
  const networks = [...new Set(kinds.data.kinds.map((kind) => kind.network))];
  if (networks.includes(network)) return look("facilitator", "right", `${shown} settles on ${network}`);
  return look(
    "facilitator",
    "wrong",
    `${shown} settles on ${networks.join(", ") || "no network"}, and the resource server sells on ${network}; set one of the two to the other's chain`,
  );
}
